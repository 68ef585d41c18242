package dev.banyan.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.djl.internal.processes.JoinedGpus;
import dev.banyan.djl.internal.processes.Processes;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.List;
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
    public @Nullable JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients) {
        return null;
    }
}
