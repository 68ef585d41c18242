package dev.banyan.reduce.internal.host;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.HalfFloat;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Exact sums of F32, F16 and BF16, all as 32-bit floats in one 64-bit integer. An input x becomes the integer nearest
 * to x 2^(61-g-E), of less than 62-g bits, where E is the greatest exponent: n of them fit.
 *
 * <p>The integer is kept as two doubles, a multiple of 2^30 and the rest, which add up without rounding and, unlike
 * 64-bit integers, convert from floats in vectors on every machine. Loops run over heap arrays, which the JIT
 * vectorises.
 *
 * <p>The code of an element: 0 if all contributions are -0, else the greatest biased exponent, at least 1.
 */
final class NarrowExactSum extends ExactSum {
    /** Adding and subtracting it rounds a double of less than 2^81 to a multiple of 2^30. */
    private static final double TO_HIGH = 0x1.8p82;
    /** Adding and subtracting it rounds a double of less than 2^51 to an integer. */
    private static final double TO_INTEGER = 0x1.8p52;

    private static final long LOW_MASK = (1L << 30) - 1;
    /** The words of an element with infinities count the positive ones in the low bits and the others above. */
    private static final long NEGATIVE_INFINITY = 1L << 31;

    private final DataType type;
    private final int divisor;
    private final boolean exactDivision;
    /** By codes: 2^(61-g-E), and its inverse, divided by the divisor if that is a power of two. */
    private final double[] scales = new double[SPECIAL + 1];

    private final double[] units = new double[SPECIAL + 1];
    /**
     * The multiples of 2^30, behind them the rests, and behind these the scales. They are one array, and the codes are
     * one with the inputs' bits, since the JIT vectorises no loop that writes one of several arrays of the same type.
     */
    private final double[] sums = new double[3 * BLOCK];

    private final float[] values = new float[BLOCK];
    private final MemorySegment valuesAsMemory = MemorySegment.ofArray(values);
    private final short[] bits;

    NarrowExactSum(DataType type, int guard, int divisor) {
        this.type = type;
        exactDivision = Integer.bitCount(divisor) == 1;
        this.divisor = divisor;
        bits = new short[type == DataType.F32 ? 0 : BLOCK];
        for (int code = 0; code < SPECIAL; code++) {
            int shift = 61 - guard - (Math.max(code, 1) - Float.MAX_EXPONENT);
            scales[code] = Math.scalb(1.0, shift);
            units[code] = Math.scalb(1.0, -shift) / (exactDivision ? divisor : 1);
        }
        // Makes +0 to -0.
        units[0] = -units[0];
        // Inputs with infinities and NaN are replaced by 0.
        scales[SPECIAL] = 1;
    }

    @Override
    void clear() {
        Arrays.fill(codes, 0, elements, 0);
        Arrays.fill(sums, 0, elements, 0);
        Arrays.fill(sums, BLOCK, BLOCK + elements, 0);
    }

    /** Loads 16-bit values as floats. */
    private void widen(MemorySegment input, long offset) {
        MemorySegment.copy(input, JAVA_SHORT_UNALIGNED, offset, bits, 0, elements);
        if (type == DataType.BF16) {
            BrainFloat.widen(bits, values, elements);
        } else {
            HalfFloat.widen(bits, values, elements);
        }
    }

    @Override
    public void look(MemorySegment input, long offset) {
        if (type == DataType.F32) {
            MemorySegment.copy(input, JAVA_INT_UNALIGNED, offset, codes, BLOCK, elements);
        } else {
            widen(input, offset);
            MemorySegment.copy(valuesAsMemory, JAVA_INT_UNALIGNED, 0, codes, BLOCK, elements);
        }
        look(codes, elements);
    }

    private static void look(int[] codes, int elements) {
        for (int i = 0; i < elements; i++) {
            int value = codes[BLOCK + i];
            int code = Math.max((value >>> 23) & SPECIAL, 1) & maskOf(value ^ Integer.MIN_VALUE);
            codes[i] = Math.max(codes[i], code);
        }
    }

    @Override
    void place() {
        for (int i = 0; i < elements; i++) {
            sums[2 * BLOCK + i] = scales[codes[i]];
        }
    }

    @Override
    void addPlaced(MemorySegment input, long offset) {
        if (type == DataType.F32) {
            MemorySegment.copy(input, JAVA_FLOAT_UNALIGNED, offset, values, 0, elements);
        } else {
            widen(input, offset);
        }
        if (special) {
            for (int i = 0; i < elements; i++) {
                if (codes[i] == SPECIAL) {
                    addSpecial(i);
                }
            }
        }
        add(values, sums, elements);
    }

    private static void add(float[] values, double[] sums, int elements) {
        for (int i = 0; i < elements; i++) {
            double scaled = values[i] * sums[2 * BLOCK + i];
            double high = (scaled + TO_HIGH) - TO_HIGH;
            sums[i] += high;
            sums[BLOCK + i] += ((scaled - high) + TO_INTEGER) - TO_INTEGER;
        }
    }

    private void addSpecial(int i) {
        float value = values[i];
        sums[BLOCK + i] += value > Float.MAX_VALUE || Float.isNaN(value) ? 1 : 0;
        sums[i] += value < -Float.MAX_VALUE || Float.isNaN(value) ? NEGATIVE_INFINITY : 0;
        values[i] = 0;
    }

    @Override
    public void round() {
        for (int i = 0; i < elements; i++) {
            double high = sums[i];
            double low = sums[BLOCK + i];
            double sum = high + low;
            double back = sum - high;
            double lost = (high - (sum - back)) + (low - back);
            if (codes[i] == SPECIAL) {
                values[i] = specialSum(sum);
            } else if (lost == 0 && exactDivision && type == DataType.F32) {
                values[i] = (float) (sum * units[codes[i]]);
            } else {
                values[i] = rounded(toOdd(sum, lost), units[codes[i]]);
            }
        }
        if (type == DataType.BF16) {
            BrainFloat.narrow(values, bits, elements);
        } else if (type == DataType.F16) {
            HalfFloat.narrow(values, bits, elements);
        }
    }

    private static float specialSum(double sum) {
        long counts = (long) sum;
        boolean positive = (counts & (NEGATIVE_INFINITY - 1)) != 0;
        return counts < NEGATIVE_INFINITY ? Float.POSITIVE_INFINITY : positive ? Float.NaN : Float.NEGATIVE_INFINITY;
    }

    /** @param sum rounded to odd */
    private float rounded(double sum, double unit) {
        double result = sum;
        if (!exactDivision) {
            result = sum / divisor;
            result = toOdd(result, Math.fma(-result, divisor, sum));
        }
        result *= unit;
        float nearest = (float) result;
        if (type == DataType.F32 || nearest == result) {
            return nearest;
        }
        // Rounded to odd, so that the next rounding, to 16 bits, is as if it were the only one.
        int raw = Float.floatToRawIntBits(nearest);
        boolean away = Math.abs(result) > Math.abs(nearest);
        return Float.intBitsToFloat((raw & 1) != 0 ? raw : away ? raw + 1 : raw - 1);
    }

    /**
     * Returns, of the two doubles around a number, the one with an odd last bit; rounding it to fewer bits gives what
     * rounding the number gives (S. Boldo and G. Melquiond, 2008, doi:10.1109/TC.2007.70819).
     *
     * @param nearest the double nearest to the number
     * @param lost has the sign of what is missing to the number; 0 if it is the double
     */
    private static double toOdd(double nearest, double lost) {
        long raw = Double.doubleToRawLongBits(nearest);
        return lost == 0 || (raw & 1) != 0
                ? nearest
                : Double.longBitsToDouble((lost > 0) == (nearest > 0) ? raw + 1 : raw - 1);
    }

    @Override
    public void store(MemorySegment output, long offset) {
        if (type == DataType.F32) {
            MemorySegment.copy(values, 0, output, JAVA_FLOAT_UNALIGNED, offset, elements);
        } else {
            MemorySegment.copy(bits, 0, output, JAVA_SHORT_UNALIGNED, offset, elements);
        }
    }

    @Override
    public int words() {
        return 1;
    }

    @Override
    public void getWords(MemorySegment target) {
        for (int i = 0; i < elements; i++) {
            target.setAtIndex(JAVA_LONG, i, (long) sums[i] + (long) sums[BLOCK + i]);
        }
    }

    @Override
    public void setWords(MemorySegment source) {
        for (int i = 0; i < elements; i++) {
            long word = source.getAtIndex(JAVA_LONG, i);
            sums[i] = word & ~LOW_MASK;
            sums[BLOCK + i] = word & LOW_MASK;
        }
    }
}
