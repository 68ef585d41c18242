package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.djl.internal.processes.JoinedGpus;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The first of two processes, which keeps what it has; what an average is, its subclasses say. */
abstract class FirstOfTwo implements Processes {
    @Override
    public int rank() {
        return 0;
    }

    @Override
    public int size() {
        return 2;
    }

    @Override
    public void broadcast(MemorySegment buffer, long count, DataType type) {}

    @Override
    public int sum(int number) {
        throw new AssertionError("no sum is reproducible");
    }

    @Override
    public CompletableFuture<Void> sum(
            List<MemorySegment> buffers, long count, DataType type, int contributions, int divisor) {
        throw new AssertionError("no sum is reproducible");
    }

    @Override
    public @Nullable JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients) {
        return null;
    }
}
