package dev.banyan.reduce.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Loops over 16-bit floats against the conversions of {@link Float}. */
class HalfLoopTest {
    private static final int ALL = 1 << 16;
    /** The number of elements that a loop gets at a time if private memory is small. */
    private static final int BLOCK = 256;

    @BeforeEach
    void needsVectors() {
        assumeTrue(Kernels.best() == Kernels.VECTOR, "needs --add-modules jdk.incubator.vector");
    }

    @ParameterizedTest
    @CsvSource({
        "SUM, xx+, 1",
        "SUM, xx+/, 3",
        "SUM, xx+/, 8",
        "SUM, xx+/, 8191",
        "SUM, xx+*, 8",
        "SUM, xx+*, 1024",
        "SUM, xx+~x+, 1",
        "SUM, xx+~x+/, 3",
        "PROD, xx+, 1",
        "PROD, xx+~x+, 1"
    })
    void everyElementIsCombinedWithSome(ReduceOp op, String code, int divisor) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(2L * ALL);
            for (int bits = 0; bits < ALL; bits++) {
                values.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, bits, (short) bits);
            }
            MemorySegment others = arena.allocate(values.byteSize());
            for (int other : new int[] {
                0, 0x8000, 1, 0x83ff, 0x400, 0x1400, 0x3bff, 0x3c01, 0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00
            }) {
                for (int i = 0; i < ALL; i++) {
                    others.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i, (short) other);
                }
                MemorySegment[] inputs = new MemorySegment[inputs(code)];
                Arrays.fill(inputs, others);
                inputs[0] = values;
                assertCombines(String.format("%s with %x", op, other), op, code, divisor, inputs);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "SUM, xx+x+x+x+x+x+x+, 1",
        "SUM, xx+xx++xx+xx+++, 1",
        "SUM, xx+x+*, 4",
        "SUM, xx+x+x+x+x+x+/, 7",
        "SUM, xx+x+x+x+x+x+x+*, 8",
        "SUM, xx+~xx+~+, 1",
        "SUM, xx+~x+~x+~x+~x+~x+~x+, 1",
        "SUM, xx+~xx+~+~xx+~xx+~+~+*, 8",
        "SUM, xx+~x+~x+/, 5",
        "PROD, xx+xx++, 1",
        "PROD, xx+~x+~x+~x+~x+~x+~x+, 1",
        "PROD, xx+~xx+~+~xx+~xx+~+~+, 1",
        "PROD, xx+x+x+x+x+x+x+, 1"
    })
    void seededElementsOfAllMagnitudesAreCombined(ReduceOp op, String code, int divisor) {
        try (Arena arena = Arena.ofConfined()) {
            assertCombines("seed 7", op, code, divisor, seeded(arena, inputs(code)));
        }
    }

    /** Private memory is the same for loops over vectors and for those over scalars. */
    @ParameterizedTest
    @CsvSource({
        "SUM, xx+, wx+, 1",
        "SUM, xx+~x+~, wx+~x+, 1",
        "SUM, xx+x+x+x+x+x+x+, wx+x+x+x+x+x+x+*, 16",
        "SUM, xx+x+x+x+x+x+x+, wx+x+x+x+x+x+x+/, 15",
        "SUM, xx+~x+~x+~x+~x+~x+~x+~, wx+~x+~x+~x+~x+~x+~x+, 1",
        "PROD, xx+, wx+, 1",
        "PROD, xx+~x+~, wx+~x+, 1",
        "PROD, xx+x+x+x+x+x+x+, wx+x+x+x+x+x+x+, 1"
    })
    void elementsAreCombinedWithPrivateValues(ReduceOp op, String first, String code, int divisor) {
        FusedLoop privateLoop = loop(op, first, true);
        FusedLoop loop = loop(op, code, false);
        int firstInputs = inputs(first);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment[] inputs = seeded(arena, firstInputs + inputs(code));
            long block = arena.allocate(4L * BLOCK, FusedLoop.UNIT).address();
            MemorySegment results = arena.allocate(2L * ALL);
            HalfBlock half = new HalfBlock();
            long[] firstAddresses = FusedLoop.newAddresses();
            firstAddresses[FusedLoop.MARGIN + firstInputs] = block;
            long[] addresses = FusedLoop.newAddresses();
            addresses[FusedLoop.MARGIN] = block;
            for (int at = 0; at < 2 * ALL; at += 2 * BLOCK) {
                for (int i = 0; i < inputs.length; i++) {
                    long address = inputs[i].address() + at;
                    if (i < firstInputs) {
                        firstAddresses[FusedLoop.MARGIN + i] = address;
                    } else {
                        addresses[FusedLoop.MARGIN + 1 + i - firstInputs] = address;
                    }
                }
                addresses[FusedLoop.MARGIN + 1 + inputs(code)] = results.address() + at;
                privateLoop.run(firstAddresses, 2 * BLOCK, divisor, half);
                loop.run(addresses, 2 * BLOCK, divisor, half);
            }
            assertEqual("seed 7", op, code.replace("w", first), divisor, results, inputs);
        }
    }

    private static MemorySegment[] seeded(Arena arena, int count) {
        Random random = new Random(7);
        MemorySegment[] inputs = new MemorySegment[count];
        for (int i = 0; i < inputs.length; i++) {
            inputs[i] = arena.allocate(2L * ALL);
        }
        for (int e = 0; e < ALL; e++) {
            // Sums cancel, overflow and are subnormal where all exponents are near one another.
            int exponent = random.nextInt(31);
            for (MemorySegment input : inputs) {
                int near = Math.clamp(exponent + random.nextInt(3) - 1, 0, 30);
                boolean unusual = random.nextInt(10_000) == 0;
                int bits = unusual ? 0x7c00 + random.nextInt(2) : near << 10 | random.nextInt(1 << 10);
                input.setAtIndex(
                        ValueLayout.JAVA_SHORT_UNALIGNED, e, (short) (random.nextBoolean() ? bits : bits | 0x8000));
            }
        }
        return inputs;
    }

    private static int inputs(String code) {
        return (int) code.chars().filter(c -> c == Expression.INPUT).count();
    }

    /** Combines inputs two units at a time: a loop has one way for usual ones, and one for infinities and NaN. */
    private static void assertCombines(String what, ReduceOp op, String code, int divisor, MemorySegment... inputs) {
        FusedLoop loop = loop(op, code, false);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment results = arena.allocate(2L * ALL);
            long[] addresses = FusedLoop.newAddresses();
            for (int i = 0; i < inputs.length; i++) {
                addresses[FusedLoop.MARGIN + i] = inputs[i].address();
            }
            addresses[FusedLoop.MARGIN + inputs.length] = results.address();
            HalfBlock block = new HalfBlock();
            for (int first = 0; first < 2 * ALL; first += 2 * FusedLoop.UNIT) {
                assertThat(loop.run(addresses, 2 * FusedLoop.UNIT, divisor, block))
                        .isEqualTo(2 * FusedLoop.UNIT);
                for (int a = FusedLoop.MARGIN; a <= FusedLoop.MARGIN + inputs.length; a++) {
                    addresses[a] += 2 * FusedLoop.UNIT;
                }
            }
            assertEqual(what, op, code, divisor, results, inputs);
        }
    }

    private static FusedLoop loop(ReduceOp op, String code, boolean wideOutput) {
        int inputs = inputs(code) + (code.indexOf(Expression.WIDE) < 0 ? 0 : 1);
        return LoopGenerator.loop(new LoopShape(DataType.F16, op, false, code, inputs, false, 1, wideOutput));
    }

    private static void assertEqual(
            String what, ReduceOp op, String code, int divisor, MemorySegment results, MemorySegment... inputs) {
        short[] expected = new short[ALL];
        for (int e = 0; e < ALL; e++) {
            expected[e] = expected(op, code, divisor, e, inputs);
        }
        short[] actual = results.toArray(ValueLayout.JAVA_SHORT_UNALIGNED);
        for (int e = 0; e < ALL; e++) {
            if (isNan(expected[e]) && isNan(actual[e])) {
                expected[e] = actual[e];
            }
        }
        assertThat(actual).as(what).isEqualTo(expected);
    }

    private static short expected(ReduceOp op, String code, int divisor, int element, MemorySegment... inputs) {
        float[] stack = new float[inputs.length];
        int depth = 0;
        int input = 0;
        for (char each : code.toCharArray()) {
            switch (each) {
                case Expression.INPUT ->
                    stack[depth++] =
                            Float.float16ToFloat(inputs[input++].getAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, element));
                case Expression.FOLD -> {
                    depth--;
                    stack[depth - 1] = ScalarOperators.floats(op).apply(stack[depth - 1], stack[depth]);
                }
                case Expression.ROUNDED -> stack[depth - 1] = HalfExpression.round(stack[depth - 1]);
                default -> stack[depth - 1] /= divisor;
            }
        }
        return Float.floatToFloat16(stack[0]);
    }

    private static boolean isNan(short bits) {
        return (bits & 0x7fff) > 0x7c00;
    }
}
