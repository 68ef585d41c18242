package dev.banyan.reduce.internal.kernel;

import java.lang.foreign.MemorySegment;

/**
 * Combines blocks of elements of one type by one operation. An instance may have temporary arrays of
 * its own and serves one thread at a time.
 *
 * <p>All kernels of a type and an operation give the same bits, except for the payload of a NaN
 * that is a sum or a product.
 */
public abstract class Kernel {
    /**
     * Computes {@code target = ((source 0 op source 1) op source 2) ...}, in this order.
     *
     * @param segments the sources, then the target, which may be source 0; native memory that stays open meanwhile
     * @param offsets first byte in each of them
     * @param sources number of sources; 1 divides the target, which is source 0 then
     * @param elements length in elements, 1 to the block length that it was made for
     * @param divisor what the result is divided by; 1 leaves it as it is
     */
    public abstract void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor);
}
