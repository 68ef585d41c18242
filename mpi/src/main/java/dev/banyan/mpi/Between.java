package dev.banyan.mpi;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Allreduces between the leading devices of the processes. */
interface Between {
    /** Returns the greatest length of an array of one call, in bytes. */
    default long limit() {
        return Long.MAX_VALUE;
    }

    /**
     * Starts an allreduce in place. At most two calls of a leader may be in flight at once.
     *
     * @param leader the index of the leader, which has a group of its own
     * @param turn the index of the call among those of an array
     */
    CompletableFuture<Void> start(int leader, int turn, MemorySegment array, long count, DataType type, ReduceOp op);

    /** MPI reads and writes the memory of the leaders. */
    record Direct(List<ProcessGroup> groups, int devices) implements Between {
        @Override
        public CompletableFuture<Void> start(
                int leader, int turn, MemorySegment array, long count, DataType type, ReduceOp op) {
            return groups.get(leader).allReduceAsync("an array", array, count, type, op, devices);
        }
    }

    /** Data goes from the leaders to MPI and back through host memory, of which each leader has two pieces. */
    final class Staged implements Between {
        static final long BYTES = 4 << 20;

        private final List<ProcessGroup> groups;
        private final int devices;
        private final Communicator local;
        /** Copies a piece back to its device while MPI reduces the next one. */
        private final CallQueue copies;

        private final List<MemorySegment> pieces = new ArrayList<>();

        /** @param arena frees the pieces; it must stay open while a call is in flight */
        Staged(List<ProcessGroup> groups, int devices, Communicator local, CallQueue copies, Arena arena) {
            this.groups = groups;
            this.devices = devices;
            this.local = local;
            this.copies = copies;
            for (int piece = 0; piece < 2 * groups.size(); piece++) {
                pieces.add(local.allocateHost(BYTES, arena));
            }
        }

        @Override
        public long limit() {
            return BYTES;
        }

        @Override
        public CompletableFuture<Void> start(
                int leader, int turn, MemorySegment array, long count, DataType type, ReduceOp op) {
            MemorySegment piece = pieces.get(2 * leader + turn % 2).asSlice(0, count * type.bytes());
            local.copyToHost(array, piece);
            return groups.get(leader)
                    .allReduceAsync("an array", piece, count, type, op, devices)
                    .thenCompose(_ -> copies.submit(() -> local.copyToDevice(array, piece)));
        }
    }
}
