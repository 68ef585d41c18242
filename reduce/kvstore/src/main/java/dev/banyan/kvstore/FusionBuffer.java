package dev.banyan.kvstore;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Memory on every device in which small arrays lie side by side, so that one collective carries them all. It is made
 * when it is first needed and kept. Not safe for use from several threads at once.
 */
final class FusionBuffer {
    private final Communicator communicator;
    private final long capacity;
    private List<MemorySegment> buffers = List.of();

    /** @param bytes what it should hold on each device; 0 for nothing */
    FusionBuffer(Communicator communicator, long bytes) {
        this.communicator = communicator;
        capacity = communicator.inHostMemory() ? bytes : 0;
    }

    /** Bytes that it holds on each device; 0 if fusion is off, or the host cannot copy within the devices' memory. */
    long capacity() {
        return capacity;
    }

    /** Carries out transfers that go together and fit in. */
    void run(List<Transfer> transfers) {
        if (buffers.isEmpty()) {
            buffers = IntStream.range(0, communicator.size())
                    .mapToObj(rank -> communicator.allocate(rank, room()))
                    .toList();
        }
        Transfer first = transfers.getFirst();
        long bytes = gather(transfers);
        CollectiveCall call = first.call;
        communicator.run(
                CollectiveCall.inPlace(
                        call.collective(),
                        call.root(),
                        padded(bytes) / call.type().bytes(),
                        call.type(),
                        ReduceOp.SUM,
                        buffers),
                first.way);
        scatter(transfers);
    }

    /** Lengths are rounded up to a power of two, so that few plans serve whatever happens to go together. */
    private long padded(long bytes) {
        return Math.min(room(), Math.max(64, 2 * Long.highestOneBit(bytes - 1)));
    }

    /** The capacity in whole elements of any type. */
    private long room() {
        return Math.ceilDiv(capacity, (long) Long.BYTES) * Long.BYTES;
    }

    private long gather(List<Transfer> transfers) {
        long at = 0;
        for (Transfer transfer : transfers) {
            List<MemorySegment> inputs = transfer.call.inputs();
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
            List<MemorySegment> outputs = transfer.call.outputs();
            for (int i = 0; i < outputs.size(); i++) {
                MemorySegment.copy(buffer(transfer, i, outputs.size()), at, outputs.get(i), 0, transfer.bytes());
            }
            at += transfer.bytes();
        }
    }

    /** A lone array is the root's. */
    private MemorySegment buffer(Transfer transfer, int index, int arrays) {
        return buffers.get(arrays == buffers.size() ? index : transfer.call.root());
    }
}
