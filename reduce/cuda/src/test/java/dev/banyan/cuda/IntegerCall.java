package dev.banyan.cuda;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * A collective in place on 32-bit integers, of which each order of summation gives the same sum.
 *
 * @param count elements, as the collective counts them
 */
record IntegerCall(Collective collective, int ranks, int count) {
    /** Returns a random buffer for each rank. */
    List<MemorySegment> inputs(long seed, Arena arena) {
        SplittableRandom random = new SplittableRandom(seed);
        long elements = Math.max(collective.inputElements(count, ranks), collective.outputElements(count, ranks));
        return IntStream.range(0, ranks)
                .mapToObj(_ -> {
                    MemorySegment input = arena.allocate(4 * elements, 64);
                    for (long at = 0; at < elements; at++) {
                        input.setAtIndex(ValueLayout.JAVA_INT, at, random.nextInt());
                    }
                    return input;
                })
                .toList();
    }

    CollectiveCall on(List<MemorySegment> buffers) {
        int root = collective.hasRoot() ? count % ranks : -1;
        return CollectiveCall.of(collective, root, count, DataType.I32, ReduceOp.SUM, buffers);
    }
}
