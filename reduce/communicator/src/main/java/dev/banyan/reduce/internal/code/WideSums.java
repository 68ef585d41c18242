package dev.banyan.reduce.internal.code;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;

/**
 * Numbered blocks of integer sums that cannot overflow: 64-bit for the narrow types, 128-bit in two
 * halves for 64-bit elements.
 */
final class WideSums {
    private final DataType type;
    private final long[][] low;
    private final long[][] high;
    private final byte[] bytes;
    private final int[] ints;

    WideSums(DataType type, int blocks, int blockElements) {
        this.type = type;
        low = new long[blocks][blockElements];
        high = new long[type == DataType.I64 ? blocks : 0][blockElements];
        bytes = new byte[type.bytes() == 1 ? blockElements : 0];
        ints = new int[type == DataType.I32 ? blockElements : 0];
    }

    void load(int block, MemorySegment source, long offset, int elements) {
        long[] target = low[block];
        switch (type) {
            case I8, U8 -> {
                MemorySegment.copy(source, JAVA_BYTE, offset, bytes, 0, elements);
                int mask = type == DataType.U8 ? 0xff : -1;
                for (int i = 0; i < elements; i++) {
                    target[i] = bytes[i] & mask;
                }
            }
            case I32 -> {
                MemorySegment.copy(source, JAVA_INT_UNALIGNED, offset, ints, 0, elements);
                for (int i = 0; i < elements; i++) {
                    target[i] = ints[i];
                }
            }
            case I64 -> {
                MemorySegment.copy(source, JAVA_LONG_UNALIGNED, offset, target, 0, elements);
                long[] top = high[block];
                for (int i = 0; i < elements; i++) {
                    top[i] = target[i] >> 63;
                }
            }
            default -> throw new IllegalStateException("wide sums of " + type);
        }
    }

    /** Computes {@code target = a + b}; the target may be one of them. */
    void add(int target, int a, int b, int elements) {
        long[] sum = low[target];
        long[] left = low[a];
        long[] right = low[b];
        if (type == DataType.I64) {
            addHalves(sum, high[target], left, high[a], right, high[b], elements);
        } else {
            for (int i = 0; i < elements; i++) {
                sum[i] = left[i] + right[i];
            }
        }
    }

    private static void addHalves(
            long[] sum, long[] sumHigh, long[] left, long[] leftHigh, long[] right, long[] rightHigh, int elements) {
        for (int i = 0; i < elements; i++) {
            long a = left[i];
            long total = a + right[i];
            sumHigh[i] = leftHigh[i] + rightHigh[i] + (Long.compareUnsigned(total, a) < 0 ? 1 : 0);
            sum[i] = total;
        }
    }

    /** Writes the sum divided by {@code divisor}, rounded toward zero. */
    void storeMean(int block, int divisor, MemorySegment target, long offset, int elements) {
        long[] sum = low[block];
        switch (type) {
            case I8, U8 -> {
                for (int i = 0; i < elements; i++) {
                    bytes[i] = (byte) quotient(sum[i], divisor);
                }
                MemorySegment.copy(bytes, 0, target, JAVA_BYTE, offset, elements);
            }
            case I32 -> {
                for (int i = 0; i < elements; i++) {
                    ints[i] = (int) quotient(sum[i], divisor);
                }
                MemorySegment.copy(ints, 0, target, JAVA_INT_UNALIGNED, offset, elements);
            }
            case I64 -> {
                long[] top = high[block];
                for (int i = 0; i < elements; i++) {
                    target.set(JAVA_LONG_UNALIGNED, offset + 8L * i, quotient(top[i], sum[i], divisor));
                }
            }
            default -> throw new IllegalStateException("wide sums of " + type);
        }
    }

    /**
     * Divides in doubles, which is several times faster than a 64-bit division and exact: the mean is below 2^31, so a
     * quotient that is no integer is at least 1/n, relatively 2^-31/n, from the next one.
     */
    private static long quotient(long sum, int divisor) {
        return (long) ((double) sum / divisor);
    }

    /** Divides a 128-bit sum of {@code divisor} 64-bit integers: its high half is less than the divisor. */
    private static long quotient(long high, long low, int divisor) {
        boolean negative = high < 0;
        long bottom = negative ? -low : low;
        long top = negative ? (low == 0 ? -high : ~high) : high;
        long upper = (top << 32) | (bottom >>> 32);
        long lower = ((upper % divisor) << 32) | (bottom & 0xffff_ffffL);
        long quotient = ((upper / divisor) << 32) | (lower / divisor);
        return negative ? -quotient : quotient;
    }
}
