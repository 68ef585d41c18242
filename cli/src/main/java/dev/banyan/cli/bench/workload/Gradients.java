package dev.banyan.cli.bench.workload;

import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.reference.ReferenceCheck;
import dev.banyan.study.workload.Workload;
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
    private final RankMemory memory;
    private final List<List<MemorySegment>> buffers;
    private final List<List<MemorySegment>> host;
    private final ReferenceCheck check;
    private final int firstRank;

    private Gradients(Workload workload, RankMemory memory, int firstRank, int allRanks) {
        this.workload = workload;
        this.firstRank = firstRank;
        this.memory = memory;
        buffers = perKey(workload, memory.buffers());
        host = perKey(workload, memory.host());
        check = new ReferenceCheck(DataType.F32, ReduceOp.SUM, allRanks, Collections.max(workload.elements()), SEED);
    }

    /**
     * Zeros.
     *
     * @throws IllegalStateException if there is not enough memory
     */
    static Gradients allocate(Arena arena, Workload workload, RankSite site) {
        return allocate(arena, workload, site, 0, site.ranks());
    }

    /**
     * Zeros, for some of the ranks that are reduced over.
     *
     * @param firstRank number of the site's first rank among all
     * @param allRanks number of all ranks
     * @throws IllegalStateException if there is not enough memory
     */
    static Gradients allocate(Arena arena, Workload workload, RankSite site, int firstRank, int allRanks) {
        FreeMemory.require(
                site.ranks() * workload.totalElements() * DataType.F32.bytes(),
                "use fewer devices with --devices, or a smaller workload");
        long bytes = workload.elements().stream().mapToLong(Gradients::aligned).sum();
        return new Gradients(workload, site.allocate(arena, bytes), firstRank, allRanks);
    }

    private static List<List<MemorySegment>> perKey(Workload workload, List<MemorySegment> whole) {
        List<List<MemorySegment>> keys = new ArrayList<>();
        long at = 0;
        for (long elements : workload.elements()) {
            long offset = at;
            keys.add(whole.stream()
                    .map(segment -> segment.asSlice(offset, elements * DataType.F32.bytes()))
                    .toList());
            at += aligned(elements);
        }
        return keys;
    }

    private static long aligned(long elements) {
        return Math.ceilDiv(elements * DataType.F32.bytes(), ALIGNMENT) * ALIGNMENT;
    }

    /** For each key the buffers of all ranks. */
    List<List<MemorySegment>> keys() {
        return buffers;
    }

    /** Makes a key of a store of each, which is returned; its first value is that of the first rank. */
    List<Key> init(KVStore store) {
        List<Key> keys = IntStream.range(0, buffers.size()).mapToObj(Key::of).toList();
        for (int k = 0; k < keys.size(); k++) {
            store.init(
                    keys.get(k), buffers.get(k).getFirst(), workload.elements().get(k), DataType.F32);
        }
        return keys;
    }

    /** Returns whether the host may read and write the buffers. */
    boolean areOfHost() {
        return memory.isOfHost();
    }

    /** The buffers of the largest key. */
    List<MemorySegment> largest() {
        return Collections.max(
                buffers, Comparator.comparingLong(key -> key.getFirst().byteSize()));
    }

    /** Fills the gradients anew, all-reduces them in place by the given round, and counts wrong elements. */
    long wrongAfter(Runnable round) {
        IntStream.range(0, host.size()).parallel().forEach(key -> {
            List<MemorySegment> inputs = host.get(key);
            for (int rank = 0; rank < inputs.size(); rank++) {
                check.fill(inputs.get(rank), firstRank + rank, 0, key);
            }
        });
        memory.send();
        round.run();
        memory.fetch();
        return IntStream.range(0, host.size()).parallel().mapToLong(this::wrong).sum();
    }

    private long wrong(int key) {
        List<MemorySegment> outputs = host.get(key);
        long count = workload.elements().get(key);
        return IntStream.range(0, outputs.size())
                .mapToLong(
                        rank -> check.wrong(Collective.ALL_REDUCE, outputs.get(rank), firstRank + rank, -1, count, key))
                .sum();
    }
}
