package dev.banyan.djl;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/**
 * The processes that train together, which include this process. All call the same methods in the same order, with the
 * same arguments except for the buffers, which are native memory.
 */
interface Processes {
    /** A single process, which trains on its own. */
    Processes ALONE = new Processes() {
        @Override
        public int rank() {
            return 0;
        }

        @Override
        public int size() {
            return 1;
        }

        @Override
        public void broadcast(MemorySegment buffer, long count, DataType type) {}

        @Override
        public CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type) {
            return CompletableFuture.completedFuture(null);
        }
    };

    /** Returns the rank of this process, 0..size-1. */
    int rank();

    /** Returns the number of processes. */
    int size();

    /** Copies the buffer of process 0 to all processes. */
    void broadcast(MemorySegment buffer, long count, DataType type);

    /**
     * Averages the buffers of all processes in place; all receive the same bits. The buffer must not be accessed until
     * the future completes. Averages end in the order of the calls.
     */
    CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type);
}
