package dev.banyan.cli.bench.call;

import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.reference.ReferenceCheck;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/** Calls on the ranks' memory, with what the host sees of it, by which what is put in and what comes out is checked. */
public final class DeviceCalls {
    /** Every bit set: no number of a floating-point type, so that an element that is left out is seen. */
    private static final byte POISON = -1;

    private final RankMemory first;
    private final RankMemory second;
    private final int firstRank;
    private long phase;

    /**
     * @param first inputs of calls out of place, as long as the largest
     * @param second outputs, and buffers of calls in place
     * @param firstRank the rank of the first buffers; the others follow
     */
    public DeviceCalls(RankMemory first, RankMemory second, int firstRank) {
        this.first = first;
        this.second = second;
        this.firstRank = firstRank;
    }

    /** A call out of place. */
    public CollectiveCall apart(Call call, long count, int shift) {
        return call.outOfPlace(
                firstRank,
                count,
                part(first.buffers(), shift, call.inputBytes(count)),
                part(second.buffers(), shift, call.outputBytes(count)));
    }

    /** A call in place. */
    public CollectiveCall together(Call call, long count, int shift) {
        return call.inPlace(count, part(second.buffers(), shift, call.size(count)));
    }

    /** Runs a call out of place, and counts wrong elements. */
    public long checkApart(Communicator communicator, Call call, long count, int shift, ReferenceCheck check) {
        phase += 7_919;
        eachRank(rank -> {
            check.fill(part(first, rank, shift, call.inputBytes(count)), rank, 0, phase);
            part(second, rank, shift, call.outputBytes(count)).fill(POISON);
            return 0;
        });
        first.send(shift, call.inputBytes(count));
        second.send(shift, call.outputBytes(count));
        communicator.run(apart(call, count, shift));
        first.fetch(shift, call.inputBytes(count));
        second.fetch(shift, call.outputBytes(count));
        return eachRank(rank -> check.changed(part(first, rank, shift, call.inputBytes(count)), rank, 0, phase)
                + wrong(call, check, part(second, rank, shift, call.outputBytes(count)), rank, count));
    }

    /** Runs a call in place, and counts wrong elements. */
    public long checkTogether(Communicator communicator, Call call, long count, int shift, ReferenceCheck check) {
        phase += 7_919;
        long bytes = call.size(count);
        long inputBytes = call.inputBytes(count);
        long outputBytes = call.outputBytes(count);
        eachRank(rank -> {
            MemorySegment buffer = part(second, rank, shift, bytes);
            buffer.fill(POISON);
            if (call.hasInput(rank)) {
                long at = call.collective() == Collective.ALL_GATHER ? rank * inputBytes : 0;
                check.fill(buffer.asSlice(at, inputBytes), rank, 0, phase);
            }
            return 0;
        });
        second.send(shift, bytes);
        communicator.run(together(call, count, shift));
        second.fetch(shift, bytes);
        return eachRank(rank -> {
            long at = call.collective() == Collective.REDUCE_SCATTER ? rank * outputBytes : 0;
            return wrong(call, check, part(second, rank, shift, bytes).asSlice(at, outputBytes), rank, count);
        });
    }

    private long eachRank(IntToLongFunction task) {
        return IntStream.range(firstRank, firstRank + first.host().size())
                .parallel()
                .mapToLong(task)
                .sum();
    }

    private long wrong(Call call, ReferenceCheck check, MemorySegment output, int rank, long count) {
        return call.hasOutput(rank) ? check.wrong(call.collective(), output, rank, call.root(), count, phase) : 0;
    }

    private MemorySegment part(RankMemory memory, int rank, long shift, long bytes) {
        return memory.host().get(rank - firstRank).asSlice(shift, bytes);
    }

    private static MemorySegment[] part(List<MemorySegment> buffers, long shift, long bytes) {
        return buffers.stream().map(buffer -> buffer.asSlice(shift, bytes)).toArray(MemorySegment[]::new);
    }
}
