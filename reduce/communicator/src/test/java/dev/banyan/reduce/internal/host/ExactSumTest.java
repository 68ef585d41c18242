package dev.banyan.reduce.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.internal.host.ExactOracle.Kind;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Sums that are rounded once, against decimal numbers. */
class ExactSumTest {
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
        "BF16, 8, 100",
        "BF16, 6, 50",
        "F64, 8, 10",
        "F64, 1, 4",
        "F64, 3, 10",
        "F64, 64, 4",
        "F64, 1000, 4"
    })
    void sumsAreRoundedOnceAndWithinTheBoundOutsideTheWindow(DataType type, int contributions, int samples) {
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
    void manySumsAreRoundedOnceAndWithinTheBoundOutsideTheWindow(DataType type, int contributions, int samples) {
        check(type, contributions, samples);
    }

    private static void check(DataType type, int contributions, int samples) {
        ExactOracle oracle = new ExactOracle(type);
        Random random = new Random(contributions);
        int guard = Integer.SIZE - Integer.numberOfLeadingZeros(contributions - 1);
        int window = switch (type) {
            case F32 -> 38 - guard;
            case BF16 -> 54 - guard;
            case F64 -> 56 - 2 * guard;
            default -> Integer.MAX_VALUE;
        };
        for (Kind kind : Kind.values()) {
            long[][] values = IntStream.range(0, samples)
                    .mapToObj(_ -> oracle.sample(kind, contributions, random))
                    .toArray(long[][]::new);
            for (boolean mean : new boolean[] {false, true}) {
                long[] sums = sums(type, mean, values, 1);
                for (int i = 0; i < samples; i++) {
                    boolean finite = Arrays.stream(values[i]).allMatch(oracle::isFinite);
                    if (finite && oracle.window(values[i]) > window) {
                        checkBound(oracle, values[i], mean, guard, sums[i]);
                    } else {
                        assertThat(sums[i])
                                .as("%s of %s, %s, mean %s", kind, Arrays.toString(values[i]), type, mean)
                                .isEqualTo(oracle.rounded(values[i], mean));
                    }
                }
            }
        }
    }

    private static void checkBound(ExactOracle oracle, long[] values, boolean mean, int guard, long sum) {
        int power = oracle.type() == DataType.F64 ? 108 - 2 * guard : 62 - guard;
        if (!oracle.isFinite(sum)) {
            assertThat(sum).isEqualTo(oracle.rounded(values, mean));
            return;
        }
        BigDecimal greatest = Arrays.stream(values)
                .mapToObj(value -> oracle.number(value).abs())
                .max(BigDecimal::compareTo)
                .orElseThrow();
        BigDecimal cut = greatest.multiply(BigDecimal.valueOf(values.length - 1L))
                .divide(BigDecimal.TWO.pow(power))
                .divide(BigDecimal.valueOf(mean ? values.length : 1), new MathContext(1500));
        BigDecimal error = oracle.number(sum).subtract(oracle.sum(values, mean)).abs();
        assertThat(error).isLessThanOrEqualTo(cut.add(oracle.unit(sum).divide(BigDecimal.TWO)));
    }

    /** Neither the order of inputs nor how many processes hold them. */
    @ParameterizedTest
    @CsvSource({"F32, 2000", "F16, 300", "BF16, 300", "F64, 300"})
    void noOrderAndNoNumberOfProcessesChangesABit(DataType type, int samples) {
        ExactOracle oracle = new ExactOracle(type);
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

    /** Any order of additions of floats is at least as far from the sum, where exponents lie within the window. */
    @Test
    void noOrderOfFloatsComesNearerInsideTheWindow() {
        ExactOracle oracle = new ExactOracle(DataType.F32);
        Random random = new Random(6);
        for (Kind kind : List.of(Kind.ALIKE, Kind.CANCELLING, Kind.TINY)) {
            long[][] values = IntStream.range(0, 100)
                    .mapToObj(_ -> oracle.sample(kind, 6, random))
                    .filter(sample -> oracle.window(sample) <= 35)
                    .toArray(long[][]::new);
            long[] sums = sums(DataType.F32, false, values, 1);
            for (int i = 0; i < values.length; i++) {
                BigDecimal sum = oracle.sum(values[i], false);
                if (!oracle.isFinite(sums[i])) {
                    continue;
                }
                BigDecimal error = oracle.number(sums[i]).subtract(sum).abs();
                List<Long> order =
                        new ArrayList<>(Arrays.stream(values[i]).boxed().toList());
                for (int t = 0; t < 20; t++) {
                    Collections.shuffle(order, random);
                    float total = 0;
                    for (long value : order) {
                        total += Float.intBitsToFloat((int) value);
                    }
                    if (Float.isFinite(total)) {
                        assertThat(error)
                                .isLessThanOrEqualTo(
                                        new BigDecimal(total).subtract(sum).abs());
                    }
                }
            }
        }
    }

    /** The class of inputs on which a lucky order of floats is better: 1 is 40 binades below what cancels. */
    @Test
    void whatLiesFarBelowNumbersThatCancelIsLost() {
        ExactOracle oracle = new ExactOracle(DataType.F32);
        long huge = Float.floatToRawIntBits(0x1p62f);
        long one = Float.floatToRawIntBits(1);
        long[][] values = {{huge, huge | 0x80000000L, one, 0, 0, 0, 0, 0}};
        assertThat(oracle.number(sums(DataType.F32, false, values, 1)[0])).isEqualTo(BigDecimal.ZERO);
        values[0][0] = Float.floatToRawIntBits(0x1p58f);
        values[0][1] = values[0][0] | 0x80000000L;
        assertThat(sums(DataType.F32, false, values, 1)[0]).isEqualTo(one);
    }

    /** The example of docs/kvstore.md. */
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
        assertThat(ExactSum.covers(DataType.F16, ReduceOp.AVG)).isTrue();
        assertThat(ExactSum.covers(DataType.I32, ReduceOp.SUM)).isFalse();
        assertThat(ExactSum.covers(DataType.F32, ReduceOp.MAX)).isFalse();
        assertThatThrownBy(() -> ExactSum.of(DataType.I8, 2, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("exact sums of 2 numbers of I8; give floats, and 1 to 16777216 of them");
    }

    /** Sums samples block by block, by so many processes. */
    private static long[] sums(DataType type, boolean mean, long[][] values, int processes) {
        int contributions = values[0].length;
        long[] sums = new long[values.length];
        // One element behind where vectors begin.
        MemorySegment array = ARENA.allocate((ExactSum.BLOCK + 1L) * type.bytes(), 8);
        MemorySegment codes = ARENA.allocate(ExactSum.BLOCK);
        List<ExactSum> parts = IntStream.range(0, processes)
                .mapToObj(_ -> ExactSum.of(type, contributions, mean))
                .toList();
        MemorySegment words =
                ARENA.allocate((long) ExactSum.BLOCK * parts.getFirst().words() * 8, 8);
        for (int at = 0; at < values.length; at += ExactSum.BLOCK) {
            int first = at;
            int length = Math.min(ExactSum.BLOCK, values.length - at);
            parts.forEach(part -> part.begin(length));
            for (int r = 0; r < contributions; r++) {
                fill(type, array, values, first, length, r);
                parts.get(r % processes).look(array, type.bytes());
            }
            int[] greatest = new int[length];
            for (ExactSum part : parts) {
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
            long[] total = new long[length * parts.getFirst().words()];
            for (ExactSum part : parts) {
                part.getWords(words);
                for (int w = 0; w < total.length; w++) {
                    total[w] += words.getAtIndex(ValueLayout.JAVA_LONG, w);
                }
            }
            MemorySegment.copy(total, 0, words, ValueLayout.JAVA_LONG, 0, total.length);
            if (processes > 1) {
                parts.getFirst().setWords(words);
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
