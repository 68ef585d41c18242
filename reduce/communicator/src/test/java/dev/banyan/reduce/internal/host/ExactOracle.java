package dev.banyan.reduce.internal.host;

import dev.banyan.schedule.type.DataType;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Arrays;
import java.util.Random;

/** Floats as bits and as decimal numbers, and sums of them in decimals. */
record ExactOracle(DataType type) {
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
        return new BigDecimal(
                switch (type) {
                    case F32 -> Float.intBitsToFloat((int) value);
                    case F64 -> Double.longBitsToDouble(value);
                    case F16 -> Float.float16ToFloat((short) value);
                    case BF16 -> Float.intBitsToFloat((int) value << 16);
                    case I8, U8, I32, I64 -> throw new IllegalArgumentException(type + " is no float");
                });
    }

    /** Returns the sum or mean of finite values; a mean is near enough to round as the mean. */
    BigDecimal sum(long[] values, boolean mean) {
        BigDecimal sum = Arrays.stream(values).mapToObj(this::number).reduce(BigDecimal.ZERO, BigDecimal::add);
        return mean ? sum.divide(BigDecimal.valueOf(values.length), DIGITS) : sum;
    }

    /** Returns the bits that IEEE 754 gives the sum or mean if it is rounded once. */
    long rounded(long[] values, boolean mean) {
        boolean nan = Arrays.stream(values).anyMatch(this::isNan);
        boolean up = Arrays.stream(values).anyMatch(value -> value == infinity());
        boolean down = Arrays.stream(values).anyMatch(value -> value == (infinity() | sign()));
        if (nan || (up && down)) {
            return nan();
        }
        if (up || down) {
            return down ? infinity() | sign() : infinity();
        }
        BigDecimal sum = sum(values, mean);
        if (sum.signum() == 0) {
            return Arrays.stream(values).allMatch(value -> value == sign()) ? sign() : 0;
        }
        return rounded(sum.abs()) | (sum.signum() < 0 ? sign() : 0);
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

    /** Returns the binades from the greatest exponent of some finite values to the least of those that are not 0. */
    long window(long[] values) {
        long[] exponents = Arrays.stream(values)
                .filter(value -> (value & ~sign()) != 0)
                .map(value -> Math.max(1, exponent(value)))
                .toArray();
        return Arrays.stream(exponents).max().orElse(0)
                - Arrays.stream(exponents).min().orElse(0);
    }
}
