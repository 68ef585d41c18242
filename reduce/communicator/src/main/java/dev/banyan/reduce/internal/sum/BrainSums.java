package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.reduce.internal.loop.LoopLanes;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Stream;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} of BF16 as {@link FloatSums}. The elements of a block become
 * floats, those of even index before those of odd index, so that nothing moves from lane to lane.
 */
final class BrainSums implements VectorSums {
    private static final LoopLanes LANES = LoopLanes.of(DataType.BF16, ReduceOp.SUM);
    private static final int VECTOR = LANES.species().vectorByteSize();

    private final FloatSums floats;
    /** The floats of each contribution, in memory of the garbage collector. */
    private final MemorySegment[] memory;

    private final long[] wide;
    private final long[] result;

    BrainSums(ReproducibleSum sum) {
        floats = new FloatSums(sum);
        memory = Stream.generate(() -> Arena.ofAuto().allocate((long) SumBlock.LENGTH * Float.BYTES, 64))
                .limit(sum.contributions())
                .toArray(MemorySegment[]::new);
        wide = Arrays.stream(memory).mapToLong(MemorySegment::address).toArray();
        result = new long[] {wide[0]};
    }

    @Override
    public int lanes() {
        return 2 * floats.lanes();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        int bytes = elements * Short.BYTES;
        for (int s = 0; s < sources.length; s++) {
            widen(sources[s], wide[s], bytes);
        }
        if (floats.sum(wide, result, elements) < elements) {
            return 0;
        }
        narrow(wide[0], targets, bytes);
        return elements;
    }

    private static void widen(long source, long target, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            var pairs = LANES.load(source + i);
            VectorLanes.store(LANES.lower(pairs), target + i);
            VectorLanes.store(LANES.upper(pairs), target + bytes + i);
        }
    }

    private static void narrow(long source, long[] targets, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            var even = VectorLanes.load(LANES.species(), source + i);
            var odd = VectorLanes.load(LANES.species(), source + bytes + i);
            var elements = LANES.join(LANES.round(even), LANES.round(odd));
            for (long target : targets) {
                VectorLanes.store(elements, target + i);
            }
        }
    }
}
