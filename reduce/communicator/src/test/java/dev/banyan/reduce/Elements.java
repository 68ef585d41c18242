package dev.banyan.reduce;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.math.BigInteger;
import java.util.random.RandomGenerator;

/** Reads and writes elements as numbers, and computes what a collective must give. */
final class Elements {
    /** A prime, so that no two chunks or shares begin with the same elements. */
    private static final int PERIOD = 4099;

    private Elements() {}

    /**
     * Random elements, which repeat after {@value #PERIOD}. Products of a few of the floats neither overflow nor
     * vanish.
     */
    static void fill(MemorySegment segment, long offset, long count, DataType type, RandomGenerator random) {
        for (long i = 0; i < Math.min(count, PERIOD); i++) {
            long at = offset + i * type.bytes();
            switch (type) {
                case I8, U8 -> segment.set(JAVA_BYTE, at, (byte) random.nextInt());
                case I32 -> segment.set(JAVA_INT_UNALIGNED, at, random.nextInt());
                case I64 -> segment.set(JAVA_LONG_UNALIGNED, at, random.nextLong());
                case F32 -> segment.set(JAVA_FLOAT_UNALIGNED, at, (float) real(random));
                case F64 -> segment.set(JAVA_DOUBLE_UNALIGNED, at, real(random));
                case F16 -> segment.set(JAVA_SHORT_UNALIGNED, at, Float.floatToFloat16((float) real(random)));
                case BF16 ->
                    segment.set(JAVA_SHORT_UNALIGNED, at, (short) (Float.floatToIntBits((float) real(random)) >>> 16));
            }
        }
        for (long done = PERIOD; done < count; done += PERIOD) {
            long bytes = Math.min(PERIOD, count - done) * type.bytes();
            MemorySegment.copy(segment, offset, segment, offset + done * type.bytes(), bytes);
        }
    }

    private static double real(RandomGenerator random) {
        return (random.nextBoolean() ? 1 : -1) * random.nextDouble(0.5, 2);
    }

    static double real(MemorySegment segment, long offset, DataType type) {
        return switch (type) {
            case F32 -> segment.get(JAVA_FLOAT_UNALIGNED, offset);
            case F64 -> segment.get(JAVA_DOUBLE_UNALIGNED, offset);
            case F16 -> Float.float16ToFloat(segment.get(JAVA_SHORT_UNALIGNED, offset));
            case BF16 -> Float.intBitsToFloat(segment.get(JAVA_SHORT_UNALIGNED, offset) << 16);
            default -> throw new IllegalArgumentException(type + " is no float");
        };
    }

    static long integer(MemorySegment segment, long offset, DataType type) {
        return switch (type) {
            case I8 -> segment.get(JAVA_BYTE, offset);
            case U8 -> segment.get(JAVA_BYTE, offset) & 0xff;
            case I32 -> segment.get(JAVA_INT_UNALIGNED, offset);
            case I64 -> segment.get(JAVA_LONG_UNALIGNED, offset);
            default -> throw new IllegalArgumentException(type + " is no integer");
        };
    }

    /** Relative distance of neighbours. */
    static double epsilon(DataType type) {
        return switch (type) {
            case F32 -> 0x1p-23;
            case F64 -> 0x1p-52;
            case F16 -> 0x1p-10;
            case BF16 -> 0x1p-7;
            default -> 0;
        };
    }

    /** Returns whether a result is what the operation makes of some values, within one rounding for each value. */
    static boolean isReduction(MemorySegment result, long offset, DataType type, ReduceOp op, double[] values) {
        double got = real(result, offset, type);
        double exact = switch (op) {
            case SUM -> sum(values);
            case AVG -> sum(values) / values.length;
            case PROD -> {
                double product = 1;
                for (double value : values) {
                    product *= value;
                }
                yield product;
            }
            case MIN, MAX -> {
                double best = values[0];
                for (double value : values) {
                    best = op == ReduceOp.MIN ? Math.min(best, value) : Math.max(best, value);
                }
                yield best;
            }
        };
        double scale = switch (op) {
            case SUM, AVG -> {
                double total = 0;
                for (double value : values) {
                    total += Math.abs(value);
                }
                yield op == ReduceOp.AVG ? total / values.length : total;
            }
            case PROD -> Math.abs(exact);
            case MIN, MAX -> 0;
        };
        return Math.abs(got - exact) <= epsilon(type) * values.length * scale;
    }

    private static double sum(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum;
    }

    /** Returns the result of the operation on some integers, as the type holds it. */
    static long reduce(DataType type, ReduceOp op, long[] values) {
        BigInteger total = BigInteger.valueOf(values[0]);
        for (int i = 1; i < values.length; i++) {
            BigInteger value = BigInteger.valueOf(values[i]);
            total = switch (op) {
                case SUM, AVG -> total.add(value);
                case PROD -> total.multiply(value);
                case MIN -> total.min(value);
                case MAX -> total.max(value);
            };
        }
        long wrapped = (op == ReduceOp.AVG ? total.divide(BigInteger.valueOf(values.length)) : total).longValue();
        return switch (type) {
            case I8 -> (byte) wrapped;
            case U8 -> wrapped & 0xff;
            case I32 -> (int) wrapped;
            default -> wrapped;
        };
    }
}
