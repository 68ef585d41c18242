package dev.banyan.cli.bench.call;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Locale;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The kind of call that is measured, whatever its size.
 *
 * @param collective the collective
 * @param type type of the elements
 * @param op operation; without meaning where the collective only copies
 * @param root the root, or -1 where the collective has none
 * @param ranks number of ranks
 */
public record Call(Collective collective, DataType type, ReduceOp op, int root, int ranks) {
    /** Returns whether a rank has an input. */
    boolean hasInput(int rank) {
        return collective != Collective.BROADCAST || rank == root;
    }

    /** Returns whether a rank has an output. */
    boolean hasOutput(int rank) {
        return collective != Collective.REDUCE || rank == root;
    }

    /** Bytes of a rank's input, where it has one. */
    long inputBytes(long count) {
        return collective.inputElements(count, ranks) * type.bytes();
    }

    /** Bytes of a rank's output, where it has one. */
    long outputBytes(long count) {
        return collective.outputElements(count, ranks) * type.bytes();
    }

    /** Size as nccl-tests mean it: bytes of the larger of a rank's buffers. */
    public long size(long count) {
        return Math.max(inputBytes(count), outputBytes(count));
    }

    /** Greatest count, at least 1, whose size is no more than the wanted one. */
    public long countFor(long size) {
        return Math.max(1, size / size(1));
    }

    /**
     * The call on given buffers, one of each for some ranks; those that it has no use for are left out.
     *
     * @param firstRank the rank of the first buffers; the others follow
     */
    CollectiveCall outOfPlace(int firstRank, long count, MemorySegment[] inputs, MemorySegment[] outputs) {
        return CollectiveCall.of(collective, root, count, type, op, only(i -> hasInput(firstRank + i), inputs))
                .into(only(i -> hasOutput(firstRank + i), outputs));
    }

    /** The call on given buffers, one per rank, that are inputs and outputs. */
    CollectiveCall inPlace(long count, MemorySegment[] buffers) {
        return CollectiveCall.of(collective, root, count, type, op, List.of(buffers));
    }

    private static List<MemorySegment> only(IntPredicate wanted, MemorySegment[] buffers) {
        return IntStream.range(0, buffers.length)
                .filter(wanted)
                .mapToObj(i -> buffers[i])
                .toList();
    }

    /** The call without its buffers. */
    public CollectiveRequest request(long count, boolean inPlace) {
        return new CollectiveRequest(collective, root, count, type.bytes(), inPlace, Long.MAX_VALUE);
    }

    /** The call as NCCL is asked for it. */
    public NcclRequest ncclRequest(long count, boolean inPlace) {
        return new NcclRequest(collective, root, count, type, op, inPlace);
    }

    /** Bytes that all ranks must read and write in memory at least. */
    public long leastTraffic(long count) {
        long bytes = 0;
        for (int rank = 0; rank < ranks; rank++) {
            bytes += (hasInput(rank) ? inputBytes(count) : 0) + (hasOutput(rank) ? outputBytes(count) : 0);
        }
        return bytes;
    }

    /** Returns type and operation, which distinguish the sweeps of several of them. */
    public String elementAndOp() {
        return typeLabel() + ", " + opLabel();
    }

    /** Name of the type as nccl-tests write it. */
    public String typeLabel() {
        return ElementTypes.label(type);
    }

    /** Name of the operation as nccl-tests write it. */
    public String opLabel() {
        return collective.reduces() ? op.name().toLowerCase(Locale.ROOT) : "none";
    }
}
