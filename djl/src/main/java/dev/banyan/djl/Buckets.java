package dev.banyan.djl;

import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Gradients that go over the processes together: those that follow each other in the order of the parameters, up to
 * some bytes. A gradient that is longer goes alone, and from where it lies. Not safe for use from several threads.
 */
final class Buckets {
    private final Processes processes;
    private final long limit;
    /** Grown to the greatest need, and used again in each step; one for each bucket of a step. */
    private final List<MemorySegment> buffers = new ArrayList<>();

    /** @param limit bytes of a bucket of more than one gradient */
    Buckets(Processes processes, long limit) {
        this.processes = processes;
        this.limit = limit;
    }

    /** Slots whose first replicas' gradients are averaged by one call. */
    final class Bucket {
        private final List<Slot> slots = new ArrayList<>();
        private long bytes;
        /** The first replicas' gradients, from when it is sent. */
        private Packed gradients = new Packed(List.of(), MemorySegment.NULL);

        private final ExchangeEvent event = new ExchangeEvent();
        private CompletableFuture<Void> averaged = CompletableFuture.completedFuture(null);

        List<Slot> slots() {
            return slots;
        }

        private boolean takes(Slot slot, long more) {
            return slots.isEmpty() || (slots.getFirst().type() == slot.type() && bytes + more <= limit);
        }

        private void add(Slot slot, long more) {
            slots.add(slot);
            bytes += more;
        }

        /** Begins; all that it has must be there. */
        void send(int index) {
            DataType type = slots.getFirst().type();
            List<HostArray> arrays =
                    slots.stream().map(slot -> HostArray.of(slot.gradient(0))).toList();
            gradients =
                    new Packed(arrays, arrays.size() == 1 ? arrays.getFirst().memory() : buffer(index, bytes));
            gradients.gather();
            event.begin();
            averaged = processes
                    .average(gradients.memory(), bytes / type.bytes(), type)
                    .whenComplete((_, _) -> event.end());
        }

        /** Returns when the first replicas' gradients are the means. */
        void receive() {
            Completions.join(averaged);
            if (event.shouldCommit()) {
                event.bytes = bytes;
                event.parameters = slots.size();
                event.commit();
            }
            gradients.scatter();
        }
    }

    /** Packs slots in their order. */
    List<Bucket> pack(List<Slot> slots) {
        List<Bucket> buckets = new ArrayList<>();
        for (Slot slot : slots) {
            long bytes = slot.count() * slot.type().bytes();
            if (buckets.isEmpty() || !buckets.getLast().takes(slot, bytes)) {
                buckets.add(new Bucket());
            }
            buckets.getLast().add(slot, bytes);
        }
        return buckets;
    }

    private MemorySegment buffer(int index, long bytes) {
        while (buffers.size() <= index) {
            buffers.add(MemorySegment.NULL);
        }
        if (buffers.get(index).byteSize() < bytes) {
            buffers.set(index, Arena.ofAuto().allocate(bytes, Long.BYTES));
        }
        return buffers.get(index).asSlice(0, bytes);
    }
}
