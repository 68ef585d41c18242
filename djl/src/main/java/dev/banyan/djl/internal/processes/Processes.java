package dev.banyan.djl.internal.processes;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * The processes that train together, which include this process. All call the same methods in the same order, with the
 * same arguments except for buffers, which are native memory, and devices.
 */
public interface Processes {
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

        @Override
        public @Nullable JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients) {
            return null;
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

    /**
     * Returns the GPUs of all processes, on which gradients are averaged where they lie.
     *
     * @param devices the devices of this process's replicas
     * @param gradients those of this process's first replica
     * @return null in all processes, with a warning that gives the reason, if one process cannot do that; null without
     *     a warning if none trains on a GPU
     */
    @Nullable
    JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients);
}
