package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.internal.kernel.Kernel;
import dev.banyan.reduce.internal.kernel.KernelSpec;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * Combines two arrays of the host's memory element by element, with the bits of the host backend: for reductions
 * outside a backend, such as between machines. It has temporary memory of its own and serves one thread at a time.
 */
public final class Combiner {
    private static final int BLOCK_BYTES = 16 << 10;

    private final int elementBytes;
    private final int blockElements;
    private final Kernel kernel;
    private final MemorySegment[] segments = new MemorySegment[3];
    private final long[] offsets = new long[3];

    /**
     * @param op not {@link ReduceOp#AVG}: use the sum, and {@link #divide} at the end
     * @throws IllegalArgumentException for AVG
     */
    public Combiner(DataType type, ReduceOp op) {
        elementBytes = type.bytes();
        blockElements = BLOCK_BYTES / elementBytes;
        kernel = Kernels.best().create(new KernelSpec(type, op), blockElements);
    }

    /**
     * Computes {@code target = source op target}.
     *
     * @param source native memory of at least the elements
     * @param target the same; not overlapping the source
     * @param elements length
     */
    public void combine(MemorySegment source, MemorySegment target, long elements) {
        segments[0] = source;
        segments[1] = target;
        segments[2] = target;
        run(2, elements, 1);
    }

    /** Computes {@code target = target / divisor}, for floating-point types. */
    public void divide(MemorySegment target, long elements, int divisor) {
        segments[0] = target;
        segments[1] = target;
        run(1, elements, divisor);
    }

    private void run(int sources, long elements, int divisor) {
        for (long at = 0; at < elements; at += blockElements) {
            for (int s = 0; s <= sources; s++) {
                offsets[s] = at * elementBytes;
            }
            kernel.combine(segments, offsets, sources, (int) Math.min(blockElements, elements - at), divisor);
        }
    }
}
