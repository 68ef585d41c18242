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

/** Allreduces between processes, of what their leaders hold. */
interface Between {
    /** Longest array of one call, in bytes. */
    long limit();

    /**
     * Starts one. No more than two of a leader are under way at once.
     *
     * @param leader 0 or more, each with a group of its own
     * @param turn number of the call, counted from 0 for each array
     */
    CompletableFuture<Void> start(
            int leader, int turn, String name, MemorySegment array, long count, DataType type, ReduceOp op);

    /** MPI reads and writes the leaders' memory. */
    record Direct(List<ProcessGroup> groups, int devices) implements Between {
        @Override
        public long limit() {
            return Long.MAX_VALUE;
        }

        @Override
        public CompletableFuture<Void> start(
                int leader, int turn, String name, MemorySegment array, long count, DataType type, ReduceOp op) {
            return groups.get(leader).allReduceAsync(name, array, count, type, op, devices);
        }
    }

    /** What leaders hold goes to MPI and back through the host's memory, of which each has two pieces. */
    final class Staged implements Between {
        private static final long BYTES = 4 << 20;

        private final List<ProcessGroup> groups;
        private final int devices;
        private final Communicator local;
        /** Copies back, while the next piece is between the processes. */
        private final CallQueue copies;

        private final List<MemorySegment> pieces = new ArrayList<>();

        /** @param arena frees the pieces, when nothing is under way */
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
                int leader, int turn, String name, MemorySegment array, long count, DataType type, ReduceOp op) {
            MemorySegment piece = pieces.get(2 * leader + turn % 2).asSlice(0, count * type.bytes());
            local.copyToHost(array, piece);
            return groups.get(leader)
                    .allReduceAsync(name, piece, count, type, op, devices)
                    .thenCompose(_ -> copies.submit(() -> local.copyToDevice(array, piece)));
        }
    }
}
