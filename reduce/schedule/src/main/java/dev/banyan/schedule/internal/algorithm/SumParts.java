package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import java.util.List;
import java.util.Optional;

/**
 * The collectives of a reproducible sum on devices with memory of their own, all in place: an allreduce of one byte a
 * number finds the greatest, and a reduction adds integers. In a long allreduce of a count that the ranks divide, each
 * rank makes a share of the results, which an allgather distributes.
 *
 * @param greatest the allreduce of bytes, a maximum
 * @param total the reduction of integers
 * @param gathered the allgather of results; empty if each rank that receives results makes all of them
 * @param integers the type of the integers
 * @param passBytes bytes that the passes before, between and behind these load and store on a device
 */
public record SumParts(
        CollectiveRequest greatest,
        CollectiveRequest total,
        Optional<CollectiveRequest> gathered,
        DataType integers,
        long passBytes) {
    /**
     * Bytes of a result from which on it is shared out. By the simulator, from 1 to 4 MiB on the shorter last pass
     * saves more than the further launch takes; not measured.
     */
    private static final long SHARED_BYTES = 2 << 20;

    /**
     * Returns the parts of a sum.
     *
     * @param request a reduction
     * @param type of the numbers
     */
    public static SumParts of(CollectiveRequest request, DataType type, int ranks) {
        DataType integers = type.sumIntegers(ranks);
        long inputs = request.collective().inputElements(request.count(), ranks);
        boolean isShared = request.collective() == Collective.ALL_REDUCE
                && request.count() % ranks == 0
                && request.count() * type.bytes() >= SHARED_BYTES;
        Collective total = isShared ? Collective.REDUCE_SCATTER : request.collective();
        long results = isShared ? request.count() / ranks : request.count();
        long each = type.bytes() + 1L;
        return new SumParts(
                part(request, Collective.ALL_REDUCE, -1, inputs, DataType.U8),
                part(request, total, request.root(), results, integers),
                isShared ? Optional.of(part(request, Collective.ALL_GATHER, -1, results, type)) : Optional.empty(),
                integers,
                inputs * each + (inputs + results) * (each + integers.bytes()));
    }

    private static CollectiveRequest part(
            CollectiveRequest request, Collective collective, int root, long count, DataType type) {
        return new CollectiveRequest(collective, root, count, type.bytes(), true, request.chunkBytes());
    }

    /** Returns the collectives in their order. */
    public List<CollectiveRequest> collectives() {
        return gathered.map(last -> List.of(greatest, total, last)).orElseGet(() -> List.of(greatest, total));
    }
}
