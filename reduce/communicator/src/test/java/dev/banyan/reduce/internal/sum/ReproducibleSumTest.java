package dev.banyan.reduce.internal.sum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.internal.sum.SumOracle.Kind;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Reproducible sums, against decimal numbers. */
class ReproducibleSumTest {
    private static final Arena ARENA = Arena.ofAuto();

    /** All kinds of inputs in one block for each. */
    @ParameterizedTest
    @CsvSource({
        "F32, 8, 125",
        "F32, 1, 30",
        "F32, 2, 100",
        "F32, 3, 100",
        "F32, 64, 30",
        "F32, 1000, 4",
        "F16, 8, 100",
        "F16, 3, 50",
        "F16, 1, 20",
        "F16, 2, 50",
        "F16, 16, 50",
        "BF16, 8, 100",
        "BF16, 6, 50",
        "BF16, 1, 20",
        "BF16, 2, 50",
        "BF16, 16, 50",
        "F64, 8, 10",
        "F64, 1, 4",
        "F64, 3, 10",
        "F64, 64, 4",
        "F64, 1000, 4"
    })
    void sumsAreThoseOfTheDefinition(DataType type, int contributions, int samples) {
        check(type, contributions, samples);
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource({
        "F32, 8, 1250",
        "F32, 1, 300",
        "F32, 2, 1000",
        "F32, 3, 1000",
        "F32, 64, 300",
        "F32, 1000, 20",
        "F16, 8, 1000",
        "F16, 3, 500",
        "BF16, 8, 1000",
        "BF16, 6, 500",
        "F64, 8, 100",
        "F64, 1, 40",
        "F64, 3, 100",
        "F64, 64, 20",
        "F64, 1000, 4"
    })
    void manySumsAreThoseOfTheDefinition(DataType type, int contributions, int samples) {
        check(type, contributions, samples);
    }

    private static void check(DataType type, int contributions, int samples) {
        SumOracle oracle = new SumOracle(type);
        Random random = new Random(contributions);
        for (Kind kind : Kind.values()) {
            long[][] values = IntStream.range(0, samples)
                    .mapToObj(_ -> oracle.sample(kind, contributions, random))
                    .toArray(long[][]::new);
            for (boolean mean : new boolean[] {false, true}) {
                long[] sums = sums(type, mean, values, 1);
                Block block = new Block(type, mean, contributions);
                long before = 0;
                for (int i = 0; i < samples; i++) {
                    long expected = oracle.defined(values[i], mean);
                    assertThat(sums[i])
                            .as("%s of %s, %s, mean %s", kind, Arrays.toString(values[i]), type, mean)
                            .isEqualTo(expected);
                    assertThat(block.sum(values[i], values[i]))
                            .as("vectors: %s of %s, %s, mean %s", kind, Arrays.toString(values[i]), type, mean)
                            .containsOnly(expected);
                    if (i > 0) {
                        long even = before;
                        assertThat(block.sum(values[i - 1], values[i]))
                                .as("vectors: sample %s of %s, %s, mean %s", i, kind, type, mean)
                                .isEqualTo(IntStream.range(0, block.elements)
                                        .mapToLong(element -> element % 2 == 0 ? even : expected)
                                        .toArray());
                    }
                    before = expected;
                    if (!mean && oracle.isFinite(sums[i])) {
                        checkBound(oracle, values[i], sums[i]);
                    }
                }
            }
        }
    }

    /** Floats of a type lose the small number beside the sum of the great ones, which then cancel. */
    @ParameterizedTest
    @EnumSource(names = {"F32", "F64", "F16", "BF16"})
    void aSmallNumberCountsBesideGreatOnesThatCancel(DataType type) {
        SumOracle oracle = new SumOracle(type);
        Block block = new Block(type, false, 8);
        long great = (((oracle.exponentMask() / 2) + 1) << oracle.fractionBits()) - 1;
        for (int binades = 0; binades < oracle.exponentMask() / 2; binades++) {
            long small = great - ((long) binades << oracle.fractionBits());
            long negative = great | (1L << (oracle.bits() - 1));
            long[] values = {great, great, great, small, negative, negative, negative, 0};
            assertThat(block.sum(values, values))
                    .as("%s, %d binades apart", type, binades)
                    .containsOnly(oracle.defined(values, false));
        }
    }

    /** No element of a vector takes the exponent of another; what is behind a NaN is summed without vectors. */
    @ParameterizedTest
    @CsvSource({"F32, 8, false", "F32, 3, true", "F32, 8, true", "F64, 8, false", "F16, 8, false", "BF16, 8, false"})
    void eachElementOfABlockHasItsOwnSum(DataType type, int contributions, boolean mean) {
        SumOracle oracle = new SumOracle(type);
        Random random = new Random(contributions);
        int elements = 150;
        Block block = new Block(type, mean, contributions, elements);
        for (int special : new int[] {-1, 5, 49, 100, 140}) {
            long[][] values = new long[elements][contributions];
            for (long[] sample : values) {
                for (int input = 0; input < contributions; input++) {
                    long exponent = oracle.exponentMask() / 2 + random.nextInt(-9, 10);
                    long sign = (long) random.nextInt(2) << (oracle.bits() - 1);
                    sample[input] =
                            sign | (exponent << oracle.fractionBits()) | random.nextLong(1L << oracle.fractionBits());
                }
            }
            if (special >= 0) {
                values[special][1] = oracle.nan();
            }
            assertThat(block.sum(values))
                    .as("%s, NaN at %s", type, special)
                    .isEqualTo(Arrays.stream(values)
                            .mapToLong(sample -> oracle.defined(sample, mean))
                            .toArray());
        }
    }

    /** Sums the elements of a block. */
    private static final class Block {
        private final DataType type;
        private final int elements;
        private final SumBlock block;
        private final MemorySegment[] inputs;

        Block(DataType type, boolean mean, int contributions) {
            this(type, mean, contributions, 35);
        }

        Block(DataType type, boolean mean, int contributions, int elements) {
            this.type = type;
            this.elements = elements;
            block = new SumBlock(new ReproducibleSum(type, contributions, mean));
            inputs = Stream.generate(() -> ARENA.allocate((elements + 1L) * type.bytes(), 8))
                    .limit(contributions)
                    .toArray(MemorySegment[]::new);
        }

        /** Sums two samples by turns, which vectors sum if they can sum both. */
        long[] sum(long[] even, long[] odd) {
            return sum(IntStream.range(0, elements)
                    .mapToObj(element -> element % 2 == 0 ? even : odd)
                    .toArray(long[][]::new));
        }

        long[] sum(long[][] values) {
            for (int element = 0; element < elements; element++) {
                for (int input = 0; input < inputs.length; input++) {
                    set(type, inputs[input], element, values[element][input]);
                }
            }
            block.sum(inputs, type.bytes(), new MemorySegment[] {inputs[0]}, type.bytes(), elements);
            return IntStream.range(0, elements)
                    .mapToLong(i -> get(type, inputs[0], i))
                    .toArray();
        }
    }

    private static void checkBound(SumOracle oracle, long[] values, long sum) {
        BigDecimal error =
                oracle.number(sum).subtract(oracle.sum(values, false)).abs();
        assertThat(error)
                .isLessThanOrEqualTo(oracle.bound(values).add(oracle.unit(sum).divide(BigDecimal.TWO)));
    }

    /** The Javadoc's bound in units in the last place of the greatest contribution. */
    @ParameterizedTest
    @CsvSource({"2, 0.0078125", "4, 0.046875", "8, 0.21875", "16, 0.9375"})
    void theBoundOfF32IsLessThanAUnitOfTheGreatestContribution(int contributions, BigDecimal units) {
        SumOracle oracle = new SumOracle(DataType.F32);
        long[] values = new long[contributions];
        Arrays.fill(values, bits(1.5f));
        assertThat(oracle.bound(values))
                .isEqualByComparingTo(oracle.unit(bits(1.5f)).multiply(units));
    }

    /** Neither the order of inputs nor how many processes hold them. */
    @ParameterizedTest
    @CsvSource({"F32, 2000", "F16, 300", "BF16, 300", "F64, 300"})
    void noOrderAndNoNumberOfProcessesChangesABit(DataType type, int samples) {
        SumOracle oracle = new SumOracle(type);
        Random random = new Random(5);
        Kind[] kinds = Kind.values();
        long[][] values = IntStream.range(0, samples)
                .mapToObj(i -> oracle.sample(kinds[i % kinds.length], 8, random))
                .toArray(long[][]::new);
        long[] expected = sums(type, false, values, 1);
        for (int processes : new int[] {1, 2, 3, 4, 8}) {
            List<Integer> order = new ArrayList<>(IntStream.range(0, 8).boxed().toList());
            Collections.shuffle(order, random);
            long[][] shuffled = Arrays.stream(values)
                    .map(sample -> order.stream().mapToLong(r -> sample[r]).toArray())
                    .toArray(long[][]::new);
            assertThat(sums(type, false, shuffled, processes)).isEqualTo(expected);
        }
    }

    /** The example of docs/reproducible.md. */
    @Test
    void oneIsLeftOfOneBetweenTwoThatCancel() {
        long[][] values = {{bits(1e8f), bits(1), bits(-1e8f)}};
        assertThat((1e8f + 1) - 1e8f).isZero();
        assertThat(sums(DataType.F32, false, values, 1)).containsExactly(bits(1));
    }

    private static long bits(float value) {
        return Integer.toUnsignedLong(Float.floatToRawIntBits(value));
    }

    @Test
    void onlyFloatsAreSummedSo() {
        assertThat(ReproducibleSum.covers(DataType.F16, ReduceOp.AVG)).isTrue();
        assertThat(ReproducibleSum.covers(DataType.I32, ReduceOp.SUM)).isFalse();
        assertThat(ReproducibleSum.covers(DataType.F32, ReduceOp.MAX)).isFalse();
        assertThatThrownBy(() -> new ReproducibleSum(DataType.I8, 2, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("reproducible sums of 2 numbers of I8; give floats, and 1 to 1048576 of them");
    }

    /** Sums samples block by block, by so many processes. */
    private static long[] sums(DataType type, boolean mean, long[][] values, int processes) {
        int contributions = values[0].length;
        long[] sums = new long[values.length];
        // One element behind where vectors begin.
        MemorySegment array = ARENA.allocate((SumBlock.LENGTH + 1L) * type.bytes(), 8);
        MemorySegment codes = ARENA.allocate(SumBlock.LENGTH);
        ReproducibleSum sum = new ReproducibleSum(type, contributions, mean);
        boolean wide = sum.integers() == DataType.I64;
        List<SumBlock> parts =
                IntStream.range(0, processes).mapToObj(_ -> new SumBlock(sum)).toList();
        MemorySegment integers = ARENA.allocate((long) SumBlock.LENGTH * Long.BYTES, Long.BYTES);
        for (int at = 0; at < values.length; at += SumBlock.LENGTH) {
            int first = at;
            int length = Math.min(SumBlock.LENGTH, values.length - at);
            parts.forEach(part -> part.begin(length));
            for (int r = 0; r < contributions; r++) {
                fill(type, array, values, first, length, r);
                parts.get(r % processes).look(array, type.bytes());
            }
            int[] greatest = new int[length];
            for (SumBlock part : parts) {
                part.getCodes(codes);
                for (int i = 0; i < length; i++) {
                    greatest[i] = Math.max(greatest[i], Byte.toUnsignedInt(codes.get(ValueLayout.JAVA_BYTE, i)));
                }
            }
            for (int i = 0; i < length; i++) {
                codes.set(ValueLayout.JAVA_BYTE, i, (byte) greatest[i]);
            }
            parts.forEach(part -> part.setCodes(codes));
            for (int r = 0; r < contributions; r++) {
                fill(type, array, values, first, length, r);
                parts.get(r % processes).add(array, type.bytes());
            }
            long[] total = new long[length];
            for (SumBlock part : parts) {
                part.getIntegers(integers);
                for (int i = 0; i < length; i++) {
                    total[i] += wide
                            ? integers.getAtIndex(ValueLayout.JAVA_LONG, i)
                            : integers.getAtIndex(ValueLayout.JAVA_INT, i);
                }
            }
            for (int i = 0; i < length; i++) {
                if (wide) {
                    integers.setAtIndex(ValueLayout.JAVA_LONG, i, total[i]);
                } else {
                    integers.setAtIndex(ValueLayout.JAVA_INT, i, Math.toIntExact(total[i]));
                }
            }
            if (processes > 1) {
                parts.getFirst().setIntegers(integers);
            }
            parts.getFirst().round();
            parts.getFirst().store(array, type.bytes());
            for (int i = 0; i < length; i++) {
                sums[at + i] = get(type, array, i);
            }
        }
        return sums;
    }

    private static void fill(DataType type, MemorySegment array, long[][] values, int first, int length, int rank) {
        for (int i = 0; i < length; i++) {
            set(type, array, i, values[first + i][rank]);
        }
    }

    private static void set(DataType type, MemorySegment array, int index, long bits) {
        switch (type.bytes()) {
            case 2 -> array.set(ValueLayout.JAVA_SHORT_UNALIGNED, 2L * (index + 1), (short) bits);
            case 4 -> array.set(ValueLayout.JAVA_INT_UNALIGNED, 4L * (index + 1), (int) bits);
            default -> array.set(ValueLayout.JAVA_LONG_UNALIGNED, 8L * (index + 1), bits);
        }
    }

    private static long get(DataType type, MemorySegment array, int index) {
        return switch (type.bytes()) {
            case 2 -> Short.toUnsignedLong(array.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2L * (index + 1)));
            case 4 -> Integer.toUnsignedLong(array.get(ValueLayout.JAVA_INT_UNALIGNED, 4L * (index + 1)));
            default -> array.get(ValueLayout.JAVA_LONG_UNALIGNED, 8L * (index + 1));
        };
    }
}
