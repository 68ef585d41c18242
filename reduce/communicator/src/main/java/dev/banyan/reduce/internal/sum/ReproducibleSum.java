package dev.banyan.reduce.internal.sum;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;

/**
 * Defines sums and means of floating-point numbers whose bits depend on the contributions alone: not on their order,
 * the algorithm, chunks, processes or devices. BANYAN_REPRODUCIBLE=1 asks for them.
 *
 * <p>An element has n contributions, one of each rank; g is ceil(log2 n).
 *
 * <ol>
 *   <li>Each contribution has a {@link #code} of one byte, which its exponent gives. The greatest code counts.
 *   <li>Each contribution x becomes the {@link #integer} nearest to x 2<sup>{@link #exponent}</sup>, ties to even. The
 *       exponent depends on the greatest code and on n alone.
 *   <li>The integers are added, which no order changes. They have 32 bits for F32, F16 and BF16 if n is at most 16,
 *   else 64 bits; n of them fit.
 *   <li>{@link #result} scales the sum back, divides it by n for a mean, and rounds once to the type, to nearest, ties
 *       to even.
 * </ol>
 *
 * <p>F16 and BF16 are converted to F32 first, which is exact. Let E be the greatest biased exponent of an element's
 * contributions, as F32 or F64, and at least 1.
 *
 * <table>
 * <caption>Codes and exponents</caption>
 * <tr><th>type</th><th>code</th><th>exponent</th></tr>
 * <tr><td>F32, F16, BF16, n at most 16</td><td>E</td><td>30 - g - (E - 127)</td></tr>
 * <tr><td>F32, F16, BF16, n above 16</td><td>E</td><td>62 - g - (E - 127)</td></tr>
 * <tr><td>F64</td><td>floor(max(0, E - 7) / 8)</td><td>62 - g - (8 code + 14 - 1023)</td></tr>
 * </table>
 *
 * <p><b>Error.</b> An integer differs from what it stands for by at most half a unit. So before the last rounding a sum
 * of F32, F16 or BF16 is off by less than (n - 1) 2<sup>g-8</sup> units in the last place (of F32) of the greatest
 * contribution for n up to 16, which is 7/32 for n = 8, and by (n - 1) 2<sup>g-40</sup> for greater n; the greatest
 * contribution itself is exact. A sum of F64 is off by at most n 2<sup>g-4</sup> of its units where E is at least 7,
 * since a code stands for eight binades, and by n 2<sup>g-1072</sup> below.
 *
 * <p><b>Special values.</b> An infinity gives that infinity. A NaN, or infinities of both signs, give the NaN that is
 * positive, quiet and without payload. A result above the greatest number rounds to infinity. A sum that is zero is
 * positive zero.
 *
 * <p><b>Source.</b> The greatest exponent first, then sums that are exact relative to it: J. Demmel and H. D. Nguyen,
 * "Fast Reproducible Floating-Point Summation", ARITH 2013, <a
 * href="https://doi.org/10.1109/ARITH.2013.9">doi:10.1109/ARITH.2013.9</a>. Here the sums are integers.
 */
public final class ReproducibleSum {
    /** The code of an element that has an infinity or a NaN among its contributions; their integers count these. */
    public static final int SPECIAL = 255;
    /** The greatest number of contributions. */
    public static final int MOST_CONTRIBUTIONS = 1 << 20;

    private final DataType type;
    private final int contributions;
    private final boolean isWide;
    private final int divisor;
    private final int guard;
    /** Bits of the mantissa with the leading one, and the greatest biased exponent, which infinities have. */
    private final int precision;

    private final int infiniteExponent;
    /** By codes: two powers of two whose product is that of the definition, which may be no double. */
    private final double[] scales = new double[SPECIAL];

    private final double[] moreScales = new double[SPECIAL];

    /**
     * Sums numbers of a type.
     *
     * @param type a floating-point type
     * @param contributions how many numbers each sum has, 1 to {@link #MOST_CONTRIBUTIONS}
     * @param isMean whether sums are divided by that number
     */
    public ReproducibleSum(DataType type, int contributions, boolean isMean) {
        this(type, contributions, isMean ? contributions : 1);
    }

    /**
     * Sums numbers of a type and divides the sums.
     *
     * @param contributions how many numbers each sum has, 1 to {@link #MOST_CONTRIBUTIONS}
     * @param divisor by which sums are divided before they are rounded, 1 to the number of contributions
     */
    public ReproducibleSum(DataType type, int contributions, int divisor) {
        if (!type.isFloating() || contributions < 1 || contributions > MOST_CONTRIBUTIONS) {
            throw new IllegalArgumentException("reproducible sums of " + contributions + " numbers of " + type
                    + "; give floats, and 1 to " + MOST_CONTRIBUTIONS + " of them");
        }
        if (divisor < 1 || divisor > contributions) {
            throw new IllegalArgumentException("sums of " + contributions + " numbers divided by " + divisor
                    + "; give a divisor from 1 to the number of numbers");
        }
        this.type = type;
        this.contributions = contributions;
        isWide = type.sumIntegers(contributions) == DataType.I64;
        this.divisor = divisor;
        guard = Integer.SIZE - Integer.numberOfLeadingZeros(contributions - 1);
        precision = switch (type) {
            case F64 -> 53;
            case F16 -> 11;
            case BF16 -> 8;
            default -> 24;
        };
        infiniteExponent = (1 << (type.bytes() * Byte.SIZE - precision)) - 1;
        for (int code = 0; code < SPECIAL; code++) {
            int half = exponent(code) / 2;
            scales[code] = Math.scalb(1.0, half);
            moreScales[code] = Math.scalb(1.0, exponent(code) - half);
        }
    }

    /** Returns whether a reduction can depend on the order of its sums, and is one of these. */
    public static boolean covers(DataType type, ReduceOp op) {
        return type.isFloating() && (op == ReduceOp.SUM || op == ReduceOp.AVG);
    }

    /**
     * Refuses products of floats.
     *
     * @throws IllegalArgumentException if a reduction depends on the order and is no sum
     */
    public static void check(DataType type, ReduceOp op) {
        if (type.isFloating() && op == ReduceOp.PROD) {
            throw new IllegalArgumentException("products of " + type
                    + " depend on their order, so BANYAN_REPRODUCIBLE=1 does not allow them; set it to 0 for them");
        }
    }

    /** Returns the type of the numbers. */
    public DataType type() {
        return type;
    }

    /** Returns how many numbers each sum has. */
    public int contributions() {
        return contributions;
    }

    /** Returns by how many bits a sum can be longer than the numbers. */
    int guard() {
        return guard;
    }

    /** Returns the type of the integers: I32 or I64. */
    public DataType integers() {
        return isWide ? DataType.I64 : DataType.I32;
    }

    /** Returns the number by which sums are divided. */
    public int divisor() {
        return divisor;
    }

    /** Returns the code of a number, 0 to 255. */
    public int code(double value) {
        int exponent = Math.getExponent(value) + Double.MAX_EXPONENT;
        return type == DataType.F64
                ? Math.max(0, exponent - 7) >>> 3
                : Math.clamp(exponent - (long) (Double.MAX_EXPONENT - Float.MAX_EXPONENT), 1, SPECIAL);
    }

    /** Returns the power of two by which numbers are multiplied where the greatest code is this one. */
    public int exponent(int code) {
        return exponentOfCodeZero() - (type == DataType.F64 ? 8 * code : code);
    }

    /** Returns what {@link #exponent} is for code 0, from which greater codes are subtracted, 8-fold for F64. */
    public int exponentOfCodeZero() {
        int bits = (isWide ? Long.SIZE : Integer.SIZE) - 2 - guard;
        return bits + (type == DataType.F64 ? Double.MAX_EXPONENT - 14 : Float.MAX_EXPONENT);
    }

    /** Returns the integer of a number where the greatest code is this one. */
    public long integer(double value, int code) {
        return code == SPECIAL ? count(value) : (long) Math.rint(value * scales[code] * moreScales[code]);
    }

    /** Returns what a number adds where some are not finite: positive infinities, negative ones and NaN are counted. */
    long count(double value) {
        return Double.isFinite(value) ? 0 : 1L << ((Double.isNaN(value) ? 2 : value > 0 ? 0 : 1) * countBits(isWide));
    }

    /** Returns the number of bits of a count in an integer: three of them have room. */
    public static int countBits(boolean isWide) {
        return isWide ? 21 : 10;
    }

    /** Returns the bits of the sum or mean, in the type, of which the integers have this sum. */
    public long result(long sum, int code) {
        if (code == SPECIAL) {
            return special(sum);
        }
        if (sum == 0) {
            return 0;
        }
        long magnitude = Math.abs(sum);
        int power = -exponent(code);
        if (divisor > 1) {
            int shift = Long.numberOfLeadingZeros(magnitude) - 1;
            magnitude <<= shift;
            long quotient = magnitude / divisor;
            long rest = magnitude % divisor;
            int more = Long.numberOfLeadingZeros(quotient) - 1;
            rest <<= more;
            magnitude = (quotient << more) + rest / divisor;
            // The last of 62 bits stands for all that is cut off.
            magnitude |= rest % divisor == 0 ? 0 : 1;
            power -= shift + more;
        }
        return sign(sum < 0) | rounded(magnitude, power);
    }

    private long special(long counts) {
        int bits = countBits(isWide);
        long mask = (1L << bits) - 1;
        boolean positive = (counts & mask) != 0;
        boolean negative = ((counts >>> bits) & mask) != 0;
        boolean isNan = counts >>> (2 * bits) != 0 || (positive && negative);
        return isNan ? infinity() | (1L << (precision - 2)) : sign(negative) | infinity();
    }

    private long infinity() {
        return (long) infiniteExponent << (precision - 1);
    }

    private long sign(boolean negative) {
        return negative ? 1L << (type.bytes() * Byte.SIZE - 1) : 0;
    }

    /** Returns the bits of the number of the type that is nearest to magnitude 2^power. */
    private long rounded(long magnitude, int power) {
        int leading = Long.SIZE - 1 - Long.numberOfLeadingZeros(magnitude);
        int biased = leading + power + (infiniteExponent >> 1);
        int dropped = leading - (precision - 1) + Math.max(0, 1 - biased);
        if (biased >= infiniteExponent) {
            return infinity();
        }
        long mantissa;
        if (dropped <= 0) {
            mantissa = magnitude << -dropped;
        } else if (dropped >= Long.SIZE) {
            mantissa = 0;
        } else {
            long half = 1L << (dropped - 1);
            long rest = magnitude & ((half << 1) - 1);
            mantissa = (magnitude >>> dropped);
            mantissa += rest > half || (rest == half && (mantissa & 1) != 0) ? 1 : 0;
        }
        // The leading one, and a carry, count in the exponent.
        return ((long) Math.max(0, biased - 1) << (precision - 1)) + mantissa;
    }
}
