package dev.banyan.reduce.internal.sum;

import dev.banyan.schedule.type.DataType;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.Arrays;
import java.util.Random;

/**
 * Floats as bits and as decimal numbers, and their sums, exact and as {@link ReproducibleSum} defines them, in
 * decimals.
 */
record SumOracle(DataType type) {
    /** Digits that tell any quotient by a small number from a tie. */
    private static final MathContext DIGITS = new MathContext(1500);

    /** The kinds of inputs. */
    enum Kind {
        /** Numbers of similar size, as gradients are. */
        ALIKE,
        /** Numbers of any exponent. */
        WIDE,
        /** Pairs that add up to nothing, and small ones between. */
        CANCELLING,
        /** A great number, and others far below it. */
        ONE_HUGE,
        /** Subnormal numbers. */
        TINY,
        /** Near the greatest number. */
        HUGE,
        /** Zeros of both signs, and few others. */
        ZEROS,
        /** Any bits, with infinities and NaN. */
        ANY,
        /** Few infinities and NaN. */
        SPECIAL
    }

    int bits() {
        return 8 * type.bytes();
    }

    int fractionBits() {
        return switch (type) {
            case F32 -> 23;
            case F64 -> 52;
            case F16 -> 10;
            case BF16 -> 7;
            case I8, U8, I32, I64 -> throw new IllegalArgumentException(type + " is no float");
        };
    }

    long exponentMask() {
        return (1L << (bits() - 1 - fractionBits())) - 1;
    }

    long infinity() {
        return exponentMask() << fractionBits();
    }

    long nan() {
        return infinity() | (1L << (fractionBits() - 1));
    }

    private long sign() {
        return 1L << (bits() - 1);
    }

    private long number(boolean negative, long exponent, Random random) {
        long kept = Math.clamp(exponent, 0, exponentMask() - 1);
        return (negative ? sign() : 0) | (kept << fractionBits()) | (random.nextLong() & ((1L << fractionBits()) - 1));
    }

    /** Returns the contributions to one element. */
    long[] sample(Kind kind, int contributions, Random random) {
        long[] sample = new long[contributions];
        long most = exponentMask() - 1;
        long middle = random.nextLong(1, most + 1);
        for (int r = 0; r < contributions; r++) {
            boolean negative = random.nextBoolean();
            sample[r] = switch (kind) {
                case ALIKE -> number(negative, middle - random.nextInt(6), random);
                case WIDE -> number(negative, random.nextLong(most + 1), random);
                case CANCELLING ->
                    r % 2 == 1 && random.nextInt(4) > 0
                            ? sample[r - 1] ^ sign()
                            : number(negative, middle - random.nextInt(60), random);
                case ONE_HUGE ->
                    number(negative, r == 0 ? most - random.nextInt(2) : random.nextLong(most + 1), random);
                case TINY -> number(negative, random.nextInt(8) / 7, random);
                case HUGE -> number(random.nextInt(4) == 0, most - random.nextInt(2), random);
                case ZEROS ->
                    random.nextInt(12) == 0
                            ? number(negative, middle, random)
                            : negative || random.nextInt(3) > 0 ? sign() : 0;
                case ANY -> random.nextLong() & (sign() | (sign() - 1));
                case SPECIAL ->
                    switch (random.nextInt(3 * contributions)) {
                        case 0 -> infinity();
                        case 1 -> infinity() | sign();
                        case 2 -> infinity() | sign() | random.nextLong(1, 1L << fractionBits());
                        default -> number(negative, middle, random);
                    };
            };
        }
        return sample;
    }

    long exponent(long value) {
        return (value >>> fractionBits()) & exponentMask();
    }

    boolean isFinite(long value) {
        return exponent(value) != exponentMask();
    }

    boolean isNan(long value) {
        return !isFinite(value) && (value & ((1L << fractionBits()) - 1)) != 0;
    }

    /** Returns the number of a value that is finite. */
    BigDecimal number(long value) {
        return new BigDecimal(asDouble(value));
    }

    /** Returns the number of a value, which a double holds. */
    double asDouble(long value) {
        return switch (type) {
            case F32 -> Float.intBitsToFloat((int) value);
            case F64 -> Double.longBitsToDouble(value);
            case F16 -> Float.float16ToFloat((short) value);
            case BF16 -> Float.intBitsToFloat((int) value << 16);
            case I8, U8, I32, I64 -> throw new IllegalArgumentException(type + " is no float");
        };
    }

    /** Returns the sum or mean of finite values; a mean is near enough to round as the mean. */
    BigDecimal sum(long[] values, boolean mean) {
        BigDecimal sum = Arrays.stream(values).mapToObj(this::number).reduce(BigDecimal.ZERO, BigDecimal::add);
        return mean ? sum.divide(BigDecimal.valueOf(values.length), DIGITS) : sum;
    }

    /** Returns the bits of the sum or mean, by the definition. */
    long defined(long[] values, boolean mean) {
        boolean nan = Arrays.stream(values).anyMatch(this::isNan);
        boolean up = Arrays.stream(values).anyMatch(value -> value == infinity());
        boolean down = Arrays.stream(values).anyMatch(value -> value == (infinity() | sign()));
        if (nan || (up && down)) {
            return nan();
        }
        if (up || down) {
            return down ? infinity() | sign() : infinity();
        }
        int power = power(values);
        BigDecimal integers = Arrays.stream(values)
                .mapToObj(value -> scaled(number(value), power).setScale(0, RoundingMode.HALF_EVEN))
                .reduce(BigDecimal.ZERO, BigDecimal::add);
        BigDecimal sum = scaled(integers, -power);
        return bits(mean ? sum.divide(BigDecimal.valueOf(values.length), DIGITS) : sum);
    }

    /** Returns the bits of a number that is rounded to the type. */
    long bits(BigDecimal number) {
        return number.signum() == 0 ? 0 : rounded(number.abs()) | (number.signum() < 0 ? sign() : 0);
    }

    private static BigDecimal scaled(BigDecimal number, int power) {
        return number.multiply((power < 0 ? new BigDecimal("0.5") : BigDecimal.TWO).pow(Math.abs(power)));
    }

    /** Returns the logarithm of the number by which values are multiplied. */
    int power(long[] values) {
        int guard = BigInteger.valueOf(values.length - 1L).bitLength();
        int greatest = Arrays.stream(values)
                .mapToInt(value -> type == DataType.F64
                        ? Math.getExponent(number(value).doubleValue())
                        : Math.max(
                                Float.MIN_EXPONENT,
                                Math.getExponent(number(value).floatValue())))
                .max()
                .orElseThrow();
        if (type == DataType.F64) {
            int steps = Math.max(0, greatest + 1023 - 7) / 8;
            return 62 - guard - (8 * steps + 14 - 1023);
        }
        return (values.length <= 16 ? 30 : 62) - guard - greatest;
    }

    /** Returns the greatest error that the definition leaves before the last rounding of a sum. */
    BigDecimal bound(long[] values) {
        int inexact = type == DataType.F64 ? values.length : values.length - 1;
        return scaled(BigDecimal.valueOf(inexact), -power(values) - 1);
    }

    /** Finds the greatest value that is not above a positive number, and takes it or the next one. */
    private long rounded(BigDecimal number) {
        long low = 0;
        long high = infinity() - 1;
        while (low < high) {
            long middle = low + (high - low + 1) / 2;
            if (number(middle).compareTo(number) <= 0) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        BigDecimal below = number.subtract(number(low));
        int half = below.compareTo(unit(low).divide(BigDecimal.TWO));
        return half > 0 || (half == 0 && (low & 1) != 0) ? low + 1 : low;
    }

    /** Returns the distance from a finite value to the next one. */
    BigDecimal unit(long value) {
        long first = Math.max(1, exponent(value)) << fractionBits();
        return number(first | 1).subtract(number(first));
    }
}
