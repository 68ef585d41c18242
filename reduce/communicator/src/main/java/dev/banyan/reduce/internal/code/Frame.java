package dev.banyan.reduce.internal.code;

import dev.banyan.reduce.backend.StepListener;
import dev.banyan.reduce.internal.kernel.Kernel;
import dev.banyan.reduce.internal.loop.FusedLoop;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The state of one thread while it runs blocks of a program: the buffers of the run, private memory in place of the
 * schedule's scratch memory, and a kernel. Scratch values never leave a block, so one block of each per thread is
 * enough, and it stays in cache.
 */
final class Frame {
    /** The length of a unit of a loop's operand, in lanes as wide as in the loop. */
    private static final long REST_BYTES = (long) FusedLoop.UNIT * FusedLoop.MOST_WIDENING;

    /** Inputs of ranks 0..n-1, then outputs. */
    final MemorySegment[] buffers;
    /** The address of each buffer. */
    final long[] addressOf;
    /** Blocks of private memory, one after another. */
    final MemorySegment scratch;
    /** The address of the private memory. */
    final long scratchAddress;
    /** The kernel for the type and the operation; null for a collective that does not combine. */
    final @Nullable Kernel kernel;
    /** Sums of integers that are averaged; null where there are none. */
    final @Nullable WideSums sums;
    /** Operands of the step that is running. */
    final MemorySegment[] segments;
    /** First byte in each operand. */
    final long[] offsets;
    /** Operands of the loop that is running. */
    final long[] addresses = FusedLoop.newAddresses();
    /** Memory of one unit for each of them. */
    final long[] restAddresses = FusedLoop.newAddresses();
    /** The listener of the run's steps, or null. */
    @Nullable
    StepListener listener;
    /** Number of the run, for the listener. */
    long run;
    /** Chunk of the block that the thread ran last or runs. */
    int chunk;

    /**
     * @param buffers the buffers of the run, which all frames share
     * @param addressOf their addresses, which all frames share
     * @param scratch private memory; a unit for each operand of a loop, then the blocks
     * @param operands greatest number of operands of a step
     */
    Frame(
            MemorySegment[] buffers,
            long[] addressOf,
            MemorySegment scratch,
            @Nullable Kernel kernel,
            @Nullable WideSums sums,
            int operands) {
        this.buffers = buffers;
        this.addressOf = addressOf;
        this.scratch = scratch.asSlice(restBytes());
        scratchAddress = this.scratch.address();
        for (int o = 0; o < 2 * FusedLoop.MOST_OPERANDS; o++) {
            restAddresses[FusedLoop.MARGIN + o] = scratch.address() + o * REST_BYTES;
        }
        this.kernel = kernel;
        this.sums = sums;
        segments = new MemorySegment[operands];
        Arrays.fill(segments, MemorySegment.NULL);
        offsets = new long[operands];
    }

    /** Returns the private memory that a frame needs beyond its blocks. */
    static long restBytes() {
        return 2 * FusedLoop.MOST_OPERANDS * REST_BYTES;
    }
}
