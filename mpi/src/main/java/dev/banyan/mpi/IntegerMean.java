package dev.banyan.mpi;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.function.Consumer;

/**
 * The mean of integers. It is exact even if the sum overflows the type: each element is summed in 64 bits, and a 64-bit
 * element as two halves in 64 bits each.
 */
final class IntegerMean {
    private static final int BLOCK = 1 << 16;
    private static final long HALF = 0xffff_ffffL;

    private final DataType type;
    private final int contributions;

    /** @param contributions how many numbers each mean combines */
    IntegerMean(DataType type, int contributions) {
        this.type = type;
        this.contributions = contributions;
    }

    /**
     * Writes the mean of all contributions to each array.
     *
     * @param arrays this process's contributions, of equal length
     * @param sum sums an array of 64-bit integers over all processes, in place
     */
    void reduce(List<MemorySegment> arrays, long count, Consumer<MemorySegment> sum) {
        int words = type == DataType.I64 ? 2 : 1;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment wide = arena.allocate(Math.min(count, BLOCK) * words * Long.BYTES, Long.BYTES);
            for (long at = 0; at < count; at += BLOCK) {
                int elements = (int) Math.min(BLOCK, count - at);
                MemorySegment used = wide.asSlice(0, (long) elements * words * Long.BYTES);
                used.fill((byte) 0);
                for (MemorySegment array : arrays) {
                    add(array, at, elements, used);
                }
                sum.accept(used);
                for (int i = 0; i < elements; i++) {
                    long mean = mean(used, elements, i);
                    for (MemorySegment array : arrays) {
                        store(array, at + i, mean);
                    }
                }
            }
        }
    }

    private void add(MemorySegment array, long first, int elements, MemorySegment wide) {
        for (int i = 0; i < elements; i++) {
            long value = load(array, first + i);
            if (type == DataType.I64) {
                increase(wide, i, value & HALF);
                increase(wide, elements + i, value >> 32);
            } else {
                increase(wide, i, value);
            }
        }
    }

    private static void increase(MemorySegment wide, int index, long value) {
        wide.setAtIndex(ValueLayout.JAVA_LONG, index, wide.getAtIndex(ValueLayout.JAVA_LONG, index) + value);
    }

    /** Returns the mean of one element, rounded toward zero. */
    private long mean(MemorySegment wide, int elements, int index) {
        long low = wide.getAtIndex(ValueLayout.JAVA_LONG, index);
        if (type != DataType.I64) {
            return low / contributions;
        }
        long high = wide.getAtIndex(ValueLayout.JAVA_LONG, elements + index) + (low >> 32);
        low &= HALF;
        boolean negative = high < 0;
        if (negative) {
            high = low == 0 ? -high : ~high;
            low = -low & HALF;
        }
        long quotient = ((high / contributions) << 32) + ((((high % contributions) << 32) | low) / contributions);
        return negative ? -quotient : quotient;
    }

    private long load(MemorySegment array, long index) {
        return switch (type) {
            case I8 -> array.get(ValueLayout.JAVA_BYTE, index);
            case U8 -> Byte.toUnsignedLong(array.get(ValueLayout.JAVA_BYTE, index));
            case I32 -> array.get(ValueLayout.JAVA_INT_UNALIGNED, index * Integer.BYTES);
            case I64 -> array.get(ValueLayout.JAVA_LONG_UNALIGNED, index * Long.BYTES);
            case F32, F64, F16, BF16 -> throw new IllegalStateException("integers of " + type);
        };
    }

    private void store(MemorySegment array, long index, long value) {
        switch (type) {
            case I8, U8 -> array.set(ValueLayout.JAVA_BYTE, index, (byte) value);
            case I32 -> array.set(ValueLayout.JAVA_INT_UNALIGNED, index * Integer.BYTES, (int) value);
            case I64 -> array.set(ValueLayout.JAVA_LONG_UNALIGNED, index * Long.BYTES, value);
            case F32, F64, F16, BF16 -> throw new IllegalStateException("integers of " + type);
        }
    }
}
