package dev.banyan.djl.internal.server;

import dev.banyan.djl.internal.processes.JoinedGpus;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.djl.internal.torch.HostArray;
import dev.banyan.djl.internal.torch.Packed;
import dev.banyan.djl.internal.torch.Slot;
import dev.banyan.reduce.internal.Completions;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

/**
 * Packs gradients that travel together: consecutive gradients of one type, up to a number of bytes. A longer gradient
 * travels alone. In host memory processes exchange a bucket of several gradients as one array, to which these are
 * copied, and a lone gradient in place; on GPUs they exchange each gradient in place. Not safe for use from several
 * threads.
 */
public final class Buckets {
    private final Processes processes;
    private final long limit;
    /**
     * The buffers by the index of their bucket and replica in a step. They grow to the greatest need and are reused in
     * each step.
     */
    private final List<MemorySegment> buffers = new ArrayList<>();

    /** @param limit the greatest length of a bucket of several gradients, in bytes */
    public Buckets(Processes processes, long limit) {
        this.processes = processes;
        this.limit = limit;
    }

    /** Slots whose gradients travel together. */
    public final class Bucket {
        private final List<Slot> slots = new ArrayList<>();
        private long bytes;
        /** The gradients of the first replica in host memory; set when the bucket is sent. */
        private Packed gradients = new Packed(List.of(), MemorySegment.NULL);

        private final ExchangeEvent event = new ExchangeEvent();
        private CompletableFuture<Void> averaged = CompletableFuture.completedFuture(null);

        public List<Slot> slots() {
            return slots;
        }

        private boolean takes(Slot slot, long more) {
            return slots.isEmpty() || (slots.getFirst().type() == slot.type() && bytes + more <= limit);
        }

        /**
         * Starts the exchange between the processes. All slots must have been added, and the first replica's gradients
         * must be summed.
         */
        void send(int index) {
            gradients = gathered(0, index);
            event.begin();
            averaged = processes.average(gradients.memory(), count(), type()).whenComplete((_, _) -> event.end());
        }

        /**
         * Starts a reproducible sum of the gradients of all replicas of all processes. All slots must have been added.
         *
         * @param contributions the number of replicas of all processes
         * @param divisor by which the sums are divided
         */
        void sendEach(int index, int contributions, int divisor) {
            int replicas = slots.getFirst().gradients().size();
            List<Packed> each = IntStream.range(0, replicas)
                    .mapToObj(replica -> gathered(replica, index * replicas + replica))
                    .toList();
            gradients = each.getFirst();
            event.begin();
            averaged = processes
                    .sum(each.stream().map(Packed::memory).toList(), count(), type(), contributions, divisor)
                    .whenComplete((_, _) -> event.end());
        }

        /** Returns the gradients of a replica in host memory. */
        private Packed gathered(int replica, int buffer) {
            List<HostArray> arrays = slots.stream()
                    .map(slot -> HostArray.of(slot.gradients().get(replica)))
                    .toList();
            Packed packed =
                    new Packed(arrays, arrays.size() == 1 ? arrays.getFirst().memory() : buffer(buffer, bytes));
            packed.gather();
            return packed;
        }

        private DataType type() {
            return slots.getFirst().type();
        }

        private long count() {
            return bytes / type().bytes();
        }

        /** Starts the exchange on the GPUs of the processes, where the gradients lie. */
        void send(JoinedGpus gpus) {
            event.begin();
            averaged = gpus.average(slots.stream()
                            .map(slot -> slot.gradients().getFirst())
                            .toList())
                    .whenComplete((_, _) -> event.end());
        }

        /** Waits for the exchange and writes the means to the gradients of the first replica. */
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

    /** Packs slots into buckets in their order. */
    public List<Bucket> pack(List<Slot> slots) {
        List<Bucket> buckets = new ArrayList<>();
        for (Slot slot : slots) {
            long bytes = slot.count() * slot.type().bytes();
            if (buckets.isEmpty() || !buckets.getLast().takes(slot, bytes)) {
                buckets.add(new Bucket());
            }
            Bucket last = buckets.getLast();
            last.slots.add(slot);
            last.bytes += bytes;
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
