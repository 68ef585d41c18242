package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.StepListener;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The state of one thread while it runs blocks of an executable: the buffers of the run, private memory in place of the
 * schedule's scratch memory, and a kernel. Scratch values never leave a block, so one block of each per thread is
 * enough, and it stays in cache.
 */
final class Frame {
    /** Inputs of ranks 0..n-1, then outputs. */
    final MemorySegment[] buffers;
    /** Blocks of private memory, one after another. */
    final MemorySegment scratch;
    /** The kernel for the type and the operation; null for a collective that does not combine. */
    final @Nullable Kernel kernel;
    /** Sums of integers that are averaged; null where there are none. */
    final @Nullable WideSums sums;
    /** Operands of the step that is running. */
    final MemorySegment[] segments;
    /** First byte in each operand. */
    final long[] offsets;
    /** The listener of the run's steps, or null. */
    @Nullable
    StepListener listener;
    /** Number of the run, for the listener. */
    long run;
    /** Chunk that the thread is in, for the listener. */
    int chunk;

    Frame(
            MemorySegment[] buffers,
            MemorySegment scratch,
            @Nullable Kernel kernel,
            @Nullable WideSums sums,
            int operands) {
        this.buffers = buffers;
        this.scratch = scratch;
        this.kernel = kernel;
        this.sums = sums;
        segments = new MemorySegment[operands];
        java.util.Arrays.fill(segments, MemorySegment.NULL);
        offsets = new long[operands];
    }
}
