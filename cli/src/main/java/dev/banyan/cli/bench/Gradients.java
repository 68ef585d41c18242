package dev.banyan.cli.bench;

import dev.banyan.reduce.type.Collective;
import dev.banyan.reduce.type.DataType;
import dev.banyan.reduce.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** A workload's gradients: for each key a buffer per rank; the keys of a rank lie one after another. */
final class Gradients {
    private static final int ALIGNMENT = 64;
    private static final long SEED = 2024;

    private final Workload workload;
    private final List<List<MemorySegment>> keys;
    private final ReferenceCheck check;

    private Gradients(Workload workload, List<List<MemorySegment>> keys, int ranks) {
        this.workload = workload;
        this.keys = keys;
        check = new ReferenceCheck(
                DataType.F32, ReduceOp.SUM, ranks, Collections.max(workload.elements()), SEED);
    }

    /**
     * Zeros.
     *
     * @throws IllegalStateException if there is not enough memory
     */
    static Gradients allocate(Arena arena, Workload workload, int ranks) {
        Memory.require(
                ranks * workload.totalElements() * DataType.F32.bytes(),
                "use fewer devices with --devices, or a smaller workload");
        long bytes = workload.elements().stream().mapToLong(Gradients::aligned).sum();
        List<MemorySegment> whole = IntStream.range(0, ranks)
                .mapToObj(rank -> arena.allocate(bytes, ALIGNMENT))
                .toList();
        List<List<MemorySegment>> keys = new ArrayList<>();
        long at = 0;
        for (long elements : workload.elements()) {
            long offset = at;
            keys.add(whole.stream()
                    .map(segment -> segment.asSlice(offset, elements * DataType.F32.bytes()))
                    .toList());
            at += aligned(elements);
        }
        return new Gradients(workload, keys, ranks);
    }

    private static long aligned(long elements) {
        return Math.ceilDiv(elements * DataType.F32.bytes(), ALIGNMENT) * ALIGNMENT;
    }

    /** For each key the buffers of all ranks. */
    List<List<MemorySegment>> keys() {
        return keys;
    }

    /** The buffers of the largest key. */
    List<MemorySegment> largest() {
        return Collections.max(keys, Comparator.comparingLong(buffers -> buffers.getFirst().byteSize()));
    }

    /** Fills the gradients anew, all-reduces them in place by the given round, and counts wrong elements. */
    long wrongAfter(Runnable round) {
        IntStream.range(0, keys.size()).parallel().forEach(key -> {
            List<MemorySegment> buffers = keys.get(key);
            for (int rank = 0; rank < buffers.size(); rank++) {
                check.fill(buffers.get(rank), rank, 0, key);
            }
        });
        round.run();
        return IntStream.range(0, keys.size()).parallel().mapToLong(this::wrong).sum();
    }

    private long wrong(int key) {
        List<MemorySegment> outputs = keys.get(key);
        long count = workload.elements().get(key);
        return IntStream.range(0, outputs.size())
                .mapToLong(rank -> check.wrong(Collective.ALL_REDUCE, outputs.get(rank), rank, -1, count, key))
                .sum();
    }
}
