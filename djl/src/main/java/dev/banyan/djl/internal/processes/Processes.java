package dev.banyan.djl.internal.processes;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumBlock;
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
        public int sum(int number) {
            return number;
        }

        @Override
        public CompletableFuture<Void> sum(
                List<MemorySegment> buffers, long count, DataType type, int contributions, int divisor) {
            SumBlock block = new SumBlock(new ReproducibleSum(type, contributions, divisor));
            MemorySegment[] all = buffers.toArray(MemorySegment[]::new);
            for (long at = 0; at < count; at += SumBlock.LENGTH) {
                long offset = at * type.bytes();
                block.sum(all, offset, all, offset, (int) Math.min(SumBlock.LENGTH, count - at));
            }
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

    /** Returns the sum of one number of each process. */
    int sum(int number);

    /**
     * Sums all buffers of all processes in place by {@link ReproducibleSum}, divides the sums, and rounds once; all
     * buffers receive the same bits, which depend neither on the processes nor on their order. The buffers must not be
     * accessed until the future completes. Sums and averages end in the order of the calls.
     *
     * @param buffers at least one of each process
     * @param contributions the number of buffers of all processes
     * @param divisor 1 to the number of contributions
     */
    CompletableFuture<Void> sum(List<MemorySegment> buffers, long count, DataType type, int contributions, int divisor);

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
