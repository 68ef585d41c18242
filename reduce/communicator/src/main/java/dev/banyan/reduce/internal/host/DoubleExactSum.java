package dev.banyan.reduce.internal.host;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Exact sums of F64 in two 64-bit integers. With W = 62-g, an input becomes an integer of 2 W bits, cut off toward
 * zero, whose lower W bits and the signed rest are summed apart: n of each fit.
 *
 * <p>The code of an element: 0 if all contributions are -0, else 1 and the upper 7 bits of the greatest biased
 * exponent.
 */
final class DoubleExactSum extends ExactSum {
    private static final int FRACTION_BITS = 52;
    private static final int EXPONENT_MASK = 0x7ff;
    private static final long FRACTION_MASK = (1L << FRACTION_BITS) - 1;
    /** Binades of one code, as a number of bits. */
    private static final int CODE_SHIFT = 4;

    private final int width;
    private final int divisor;
    private final long[] high = new long[BLOCK];
    private final long[] low = new long[BLOCK];
    private final long[] values = new long[BLOCK];
    private final double[] rounded = new double[BLOCK];

    DoubleExactSum(int guard, int divisor) {
        width = 62 - guard;
        this.divisor = divisor;
    }

    @Override
    void clear() {
        Arrays.fill(codes, 0, elements, 0);
        Arrays.fill(high, 0, elements, 0);
        Arrays.fill(low, 0, elements, 0);
    }

    @Override
    public void look(MemorySegment input, long offset) {
        MemorySegment.copy(input, JAVA_LONG_UNALIGNED, offset, values, 0, elements);
        for (int i = 0; i < elements; i++) {
            codes[i] = Math.max(codes[i], code(values[i]));
        }
    }

    private static int code(long value) {
        int exponent = exponent(value);
        return value == Long.MIN_VALUE ? 0 : exponent == EXPONENT_MASK ? SPECIAL : 1 + (exponent >> CODE_SHIFT);
    }

    private static int exponent(long value) {
        return (int) (value >>> FRACTION_BITS) & EXPONENT_MASK;
    }

    @Override
    void place() {}

    @Override
    void addPlaced(MemorySegment input, long offset) {
        MemorySegment.copy(input, JAVA_LONG_UNALIGNED, offset, values, 0, elements);
        for (int i = 0; i < elements; i++) {
            if (codes[i] == SPECIAL) {
                addSpecial(i, Double.longBitsToDouble(values[i]));
            } else {
                add(i, values[i]);
            }
        }
    }

    /** Counts positive infinities in one word, negative ones in the other, and NaN in both. */
    private void addSpecial(int i, double value) {
        low[i] += value > Double.MAX_VALUE || Double.isNaN(value) ? 1 : 0;
        high[i] += value < -Double.MAX_VALUE || Double.isNaN(value) ? 1 : 0;
    }

    private void add(int i, long value) {
        int exponent = exponent(value);
        long significand = (value & FRACTION_MASK) | (exponent == 0 ? 0 : 1L << FRACTION_BITS);
        int shift = 2 * width - FRACTION_BITS - 1 - (top(codes[i]) - Math.max(exponent, 1));
        long upper;
        long lower;
        if (shift >= Long.SIZE) {
            upper = significand << (shift - Long.SIZE);
            lower = 0;
        } else if (shift > 0) {
            upper = significand >>> (Long.SIZE - shift);
            lower = significand << shift;
        } else {
            upper = 0;
            lower = shift > -Long.SIZE ? significand >>> -shift : 0;
        }
        if (value < 0) {
            lower = -lower;
            upper = lower == 0 ? -upper : ~upper;
        }
        low[i] += lower & ((1L << width) - 1);
        high[i] += (upper << (Long.SIZE - width)) | (lower >>> width);
    }

    /** Returns the greatest biased exponent that a code stands for. */
    private static int top(int code) {
        return (Math.max(code, 1) << CODE_SHIFT) - 1;
    }

    @Override
    public void round() {
        for (int i = 0; i < elements; i++) {
            if (codes[i] == SPECIAL) {
                rounded[i] =
                        high[i] == 0 ? Double.POSITIVE_INFINITY : low[i] == 0 ? Double.NEGATIVE_INFINITY : Double.NaN;
            } else {
                rounded[i] = rounded(i);
            }
        }
    }

    private double rounded(int i) {
        long lower = (high[i] << width) + low[i];
        long upper = (high[i] >> (Long.SIZE - width)) + (Long.compareUnsigned(lower, low[i]) < 0 ? 1 : 0);
        boolean negative = upper < 0;
        if (negative) {
            lower = -lower;
            upper = lower == 0 ? -upper : ~upper;
        }
        if ((upper | lower) == 0) {
            return codes[i] == 0 ? -0.0 : 0.0;
        }
        int exponent = top(codes[i]) - (Double.MAX_EXPONENT - 1) - 2 * width;
        double magnitude = magnitude(upper, lower, exponent);
        return negative ? -magnitude : magnitude;
    }

    /** Returns the double nearest to an integer of 128 bits that is not 0, times a power of two, over the divisor. */
    private double magnitude(long upper, long lower, int exponent) {
        int zeros = upper == 0 ? Long.SIZE + Long.numberOfLeadingZeros(lower) : Long.numberOfLeadingZeros(upper);
        long first = zeros >= Long.SIZE ? lower << (zeros - Long.SIZE) : shifted(upper, lower, zeros);
        long second = zeros >= Long.SIZE ? 0 : lower << zeros;
        int unit = exponent - zeros;
        if (divisor > 1) {
            // Digits of 32 bits, the last of which takes the rest along as a bit that keeps it from being a tie.
            long a = first >>> 32;
            long b = ((a % divisor) << 32) | (first & 0xffff_ffffL);
            long c = ((b % divisor) << 32) | (second >>> 32);
            long d = ((c % divisor) << 32) | (second & 0xffff_ffffL);
            long quotient = ((a / divisor) << 32) | (b / divisor);
            long rest = ((c / divisor) << 32) | (d / divisor) | (d % divisor == 0 ? 0 : 1);
            int more = Long.numberOfLeadingZeros(quotient);
            first = shifted(quotient, rest, more);
            second = rest << more;
            unit -= more;
        }
        // The number is 1.f * 2^top, f being the 127 bits below the first.
        int top = unit + 127;
        int dropped = Math.max(Long.SIZE - FRACTION_BITS - 1, Double.MIN_EXPONENT - FRACTION_BITS - (unit + Long.SIZE));
        if (dropped > Long.SIZE) {
            return 0;
        }
        long kept = dropped == Long.SIZE ? 0 : first >>> dropped;
        long half = 1L << (dropped - 1);
        long below = first & (half | (half - 1));
        boolean tie = below == half && second == 0;
        if (Long.compareUnsigned(below, half) >= 0 && (!tie || (kept & 1) != 0)) {
            kept++;
        }
        return top > Double.MAX_EXPONENT
                ? Double.POSITIVE_INFINITY
                : Math.scalb((double) kept, unit + Long.SIZE + dropped);
    }

    private static long shifted(long upper, long lower, int by) {
        return by == 0 ? upper : (upper << by) | (lower >>> (Long.SIZE - by));
    }

    @Override
    public void store(MemorySegment output, long offset) {
        MemorySegment.copy(rounded, 0, output, JAVA_DOUBLE_UNALIGNED, offset, elements);
    }

    @Override
    public int words() {
        return 2;
    }

    @Override
    public void getWords(MemorySegment target) {
        MemorySegment.copy(high, 0, target, JAVA_LONG, 0, elements);
        MemorySegment.copy(low, 0, target, JAVA_LONG, (long) elements * Long.BYTES, elements);
    }

    @Override
    public void setWords(MemorySegment source) {
        MemorySegment.copy(source, JAVA_LONG, 0, high, 0, elements);
        MemorySegment.copy(source, JAVA_LONG, (long) elements * Long.BYTES, low, 0, elements);
    }
}
