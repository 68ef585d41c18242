package dev.banyan.kvstore;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory on every device of the host backend in which small arrays lie side by side, so that one collective carries
 * them all. It is allocated at its first use and kept. Not safe for use from several threads at once.
 */
final class FusionBuffer {
    private final Communicator communicator;
    private final long capacity;
    private List<MemorySegment> buffers = List.of();

    /** @param bytes its least capacity on each device in bytes; 0 for none */
    FusionBuffer(Communicator communicator, long bytes) {
        this.communicator = communicator;
        capacity = bytes;
    }

    /** Returns its capacity on each device in bytes; 0 if fusion is off. */
    long capacity() {
        return capacity;
    }

    /** Runs transfers that share a collective and fit into the buffer. */
    void run(List<Transfer> transfers) {
        if (buffers.isEmpty()) {
            buffers = IntStream.range(0, communicator.size())
                    .mapToObj(rank -> communicator.allocate(rank, wholeCapacity()))
                    .toList();
        }
        Transfer first = transfers.getFirst();
        long bytes = gather(transfers);
        CollectiveCall call = first.only();
        long count = padded(bytes) / call.type().bytes();
        communicator.run(CollectiveCall.of(call.collective(), call.root(), count, call.type(), ReduceOp.SUM, buffers)
                .by(call.hint()));
        scatter(transfers);
    }

    /** Returns a length rounded up to a power of two, so that few plans serve all combinations of transfers. */
    private long padded(long bytes) {
        return Math.min(wholeCapacity(), Math.max(64, 2 * Long.highestOneBit(bytes - 1)));
    }

    /** Returns the capacity, rounded up to whole elements of any type. */
    private long wholeCapacity() {
        return Math.ceilDiv(capacity, (long) Long.BYTES) * Long.BYTES;
    }

    private long gather(List<Transfer> transfers) {
        long at = 0;
        for (Transfer transfer : transfers) {
            List<MemorySegment> inputs = transfer.only().inputs();
            for (int i = 0; i < inputs.size(); i++) {
                MemorySegment.copy(inputs.get(i), 0, buffer(transfer, i, inputs.size()), at, transfer.bytes());
            }
            at += transfer.bytes();
        }
        return at;
    }

    private void scatter(List<Transfer> transfers) {
        long at = 0;
        for (Transfer transfer : transfers) {
            List<MemorySegment> outputs = transfer.only().outputs();
            for (int i = 0; i < outputs.size(); i++) {
                MemorySegment.copy(buffer(transfer, i, outputs.size()), at, outputs.get(i), 0, transfer.bytes());
            }
            at += transfer.bytes();
        }
    }

    /** Returns the buffer of a transfer's array; a single array is the root's. */
    private MemorySegment buffer(Transfer transfer, int index, int arrays) {
        return buffers.get(arrays == buffers.size() ? index : transfer.only().root());
    }
}
