package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The collectives of a reproducible sum on devices with memory of their own, all in place: an allreduce of one byte a
 * number finds the greatest, and a reduction adds integers. In a long allreduce each rank makes a share of the results,
 * which an allgather distributes; all ranks make the few results that are left where the ranks do not divide the count.
 *
 * @param greatest the allreduce of bytes, a maximum
 * @param total the reduction of integers
 * @param rest the allreduce of the integers behind all shares; empty if there are none
 * @param gathered the allgather of results; empty if each rank that receives results makes all of them
 * @param integers the type of the integers
 * @param passBytes bytes that the passes before, between and behind these load and store on a device
 */
public record SumParts(
        CollectiveRequest greatest,
        CollectiveRequest total,
        Optional<CollectiveRequest> rest,
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
        boolean isShared =
                request.collective() == Collective.ALL_REDUCE && request.count() * type.bytes() >= SHARED_BYTES;
        Collective total = isShared ? Collective.REDUCE_SCATTER : request.collective();
        long results = isShared ? request.count() / ranks : request.count();
        long rest = isShared ? request.count() % ranks : 0;
        long each = type.bytes() + 1L;
        return new SumParts(
                part(request, Collective.ALL_REDUCE, -1, inputs, DataType.U8),
                part(request, total, request.root(), results, integers),
                rest > 0 ? Optional.of(part(request, Collective.ALL_REDUCE, -1, rest, integers)) : Optional.empty(),
                isShared ? Optional.of(part(request, Collective.ALL_GATHER, -1, results, type)) : Optional.empty(),
                integers,
                inputs * each + (inputs + results + rest) * (each + integers.bytes()));
    }

    private static CollectiveRequest part(
            CollectiveRequest request, Collective collective, int root, long count, DataType type) {
        return new CollectiveRequest(collective, root, count, type.bytes(), true, request.chunkBytes());
    }

    /** Returns the collectives in their order. */
    public List<CollectiveRequest> collectives() {
        return Stream.of(Optional.of(greatest), Optional.of(total), rest, gathered)
                .flatMap(Optional::stream)
                .toList();
    }
}
