package dev.banyan.djl;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/**
 * The processes that train together, this one among them. All call the same methods in the same order with the same
 * arguments but for the buffers, which are native memory.
 */
interface Processes {
    /** One process, which trains on its own. */
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

    /** Which one this is, 0..size-1. */
    int rank();

    /** How many there are. */
    int size();

    /** Gives all what process 0 has in its buffer. */
    void broadcast(MemorySegment buffer, long count, DataType type);

    /**
     * Gives all the mean of all buffers, in place and as the same bits everywhere. The buffer must not be touched until
     * the future completes. Averages end in the order of the calls.
     */
    CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type);
}
