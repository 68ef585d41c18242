package dev.banyan.mpi;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;

/**
 * Numbers for the devices of a world, and what becomes of them, computed in 64 bits or more. They are chosen so that
 * all results are exact in every type, whatever the order: small integers for sums, powers of two for products;
 * integers to be averaged are of the whole range of their type, so that their sum does not fit in.
 */
record Sample(DataType type, ReduceOp op, int devices) {
    /** Elements repeat, so that long arrays are quick to fill. No piece of an array is a multiple of the period. */
    private static final int PERIOD = 4099;

    /**
     * Returns the samples of one of several rounds. All rounds together have each pair of type and operation once. If
     * there are at most four rounds, each of them has each type and each operation.
     */
    static List<Sample> ofRound(int round, int rounds, int devices) {
        List<Sample> samples = new ArrayList<>();
        for (DataType type : DataType.values()) {
            for (ReduceOp op : ReduceOp.values()) {
                if ((type.ordinal() + op.ordinal()) % rounds == round % rounds) {
                    samples.add(new Sample(type, op, devices));
                }
            }
        }
        return samples;
    }

    /** Returns one of up to four lengths. Within all rounds each type and each operation meets each length. */
    long oneOf(long[] counts) {
        return counts[(type.ordinal() / 2 + op.ordinal()) % counts.length];
    }

    /** Returns whether this is a mean of integers, which goes another way between processes. */
    boolean isIntegerMean() {
        return op == ReduceOp.AVG && !type.isFloating();
    }

    /** Element i of device d. */
    double floating(int device, long index) {
        int mixed = mix(device, index);
        return op == ReduceOp.PROD ? powers(mixed) : mixed % 9 - 4;
    }

    private static double powers(int mixed) {
        return switch (mixed % 4) {
            case 0 -> -1;
            case 1 -> 2;
            case 2 -> 0.5;
            default -> 1;
        };
    }

    long integer(int device, long index) {
        int mixed = mix(device, index);
        if (op == ReduceOp.PROD) {
            return mixed % 3 - 1L;
        }
        if (op != ReduceOp.AVG && op != ReduceOp.MIN && op != ReduceOp.MAX) {
            return mixed % 9;
        }
        long wide = mixed * 0x9E3779B97F4A7C15L;
        return switch (type) {
            case I8 -> (byte) wide;
            case U8 -> wide & 0xff;
            case I32 -> (int) (wide >> 16);
            default -> wide;
        };
    }

    private static int mix(int device, long index) {
        return (int) (((index + 1) * 0x5DEECE66DL + device * 0x2545F4914F6CDD1DL) >>> 20) & 0x7fff_ffff;
    }

    void fill(MemorySegment buffer, int device, long count) {
        for (long i = 0; i < Math.min(count, PERIOD); i++) {
            if (type.isFloating()) {
                set(buffer, i, floating(device, i));
            } else {
                set(buffer, i, integer(device, i));
            }
        }
        for (long at = PERIOD; at < count; at += PERIOD) {
            MemorySegment.copy(buffer, 0, buffer, at * type.bytes(), Math.min(PERIOD, count - at) * type.bytes());
        }
    }

    /** Returns the number of elements of the first period, and of later periods, that are not what they should be. */
    long wrong(MemorySegment buffer, long count) {
        long wrong = 0;
        for (long at = PERIOD; at < count; at += PERIOD) {
            long bytes = Math.min(PERIOD, count - at) * type.bytes();
            long from = at * type.bytes();
            wrong += MemorySegment.mismatch(buffer, 0, bytes, buffer, from, from + bytes) < 0 ? 0 : 1;
        }
        for (long i = 0; i < Math.min(count, PERIOD); i++) {
            long index = i;
            wrong += type.isFloating()
                    ? (get(buffer, i) == rounded(floats(index)) ? 0 : 1)
                    : (bits(buffer, i) == integers(index) ? 0 : 1);
        }
        return wrong;
    }

    private double floats(long index) {
        double result = floating(0, index);
        for (int d = 1; d < devices; d++) {
            double next = floating(d, index);
            result = switch (op) {
                case SUM, AVG -> result + next;
                case PROD -> result * next;
                case MIN -> Math.min(result, next);
                case MAX -> Math.max(result, next);
            };
        }
        return op == ReduceOp.AVG ? result / devices : result;
    }

    private long integers(long index) {
        long result = op == ReduceOp.AVG ? mean(index) : integer(0, index);
        for (int d = 1; d < devices; d++) {
            long next = integer(d, index);
            result = switch (op) {
                case SUM -> result + next;
                case PROD -> result * next;
                case MIN -> Math.min(result, next);
                case MAX -> Math.max(result, next);
                case AVG -> result;
            };
        }
        return switch (type) {
            case I8 -> (byte) result;
            case U8 -> result & 0xff;
            case I32 -> (int) result;
            default -> result;
        };
    }

    private long mean(long index) {
        BigInteger sum = BigInteger.ZERO;
        for (int d = 0; d < devices; d++) {
            sum = sum.add(BigInteger.valueOf(integer(d, index)));
        }
        return sum.divide(BigInteger.valueOf(devices)).longValue();
    }

    /** As the type has it. */
    private double rounded(double value) {
        return switch (type) {
            case F32 -> (float) value;
            case F16 -> Float.float16ToFloat(Float.floatToFloat16((float) value));
            case BF16 -> Float.intBitsToFloat(brain((float) value) << 16);
            default -> value;
        };
    }

    private static int brain(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    }

    private void set(MemorySegment buffer, long index, double value) {
        switch (type) {
            case F32 -> buffer.set(ValueLayout.JAVA_FLOAT_UNALIGNED, index * 4, (float) value);
            case F64 -> buffer.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, index * 8, value);
            case F16 -> buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, index * 2, Float.floatToFloat16((float) value));
            case BF16 -> buffer.set(ValueLayout.JAVA_SHORT_UNALIGNED, index * 2, (short) brain((float) value));
            case I8, U8, I32, I64 -> throw new IllegalStateException(type + " is no float");
        }
    }

    private void set(MemorySegment buffer, long index, long value) {
        switch (type) {
            case I8, U8 -> buffer.set(ValueLayout.JAVA_BYTE, index, (byte) value);
            case I32 -> buffer.set(ValueLayout.JAVA_INT_UNALIGNED, index * 4, (int) value);
            case I64 -> buffer.set(ValueLayout.JAVA_LONG_UNALIGNED, index * 8, value);
            case F32, F64, F16, BF16 -> throw new IllegalStateException(type + " is no integer");
        }
    }

    private double get(MemorySegment buffer, long index) {
        return switch (type) {
            case F32 -> buffer.get(ValueLayout.JAVA_FLOAT_UNALIGNED, index * 4);
            case F64 -> buffer.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, index * 8);
            case F16 -> Float.float16ToFloat(buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, index * 2));
            case BF16 -> Float.intBitsToFloat(buffer.get(ValueLayout.JAVA_SHORT_UNALIGNED, index * 2) << 16);
            case I8, U8, I32, I64 -> throw new IllegalStateException(type + " is no float");
        };
    }

    private long bits(MemorySegment buffer, long index) {
        return switch (type) {
            case I8 -> buffer.get(ValueLayout.JAVA_BYTE, index);
            case U8 -> buffer.get(ValueLayout.JAVA_BYTE, index) & 0xff;
            case I32 -> buffer.get(ValueLayout.JAVA_INT_UNALIGNED, index * 4);
            case I64 -> buffer.get(ValueLayout.JAVA_LONG_UNALIGNED, index * 8);
            case F32, F64, F16, BF16 -> throw new IllegalStateException(type + " is no integer");
        };
    }
}
