package dev.banyan.djl.internal.processes;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import dev.banyan.mpi.ProcessGroup;
import dev.banyan.mpi.World;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The processes of MPI's world. */
final class MpiProcesses implements Processes {
    private final ProcessGroup group;
    private final GpuJoin gpus;

    MpiProcesses(World world) {
        group = world.all();
        gpus = new GpuJoin(world);
    }

    @Override
    public int rank() {
        return group.rank();
    }

    @Override
    public int size() {
        return group.size();
    }

    @Override
    public void broadcast(MemorySegment buffer, long count, DataType type) {
        PhaseEvent event = PhaseEvent.begin("broadcast");
        group.broadcast("an array", buffer, count, type, 0);
        event.done();
    }

    @Override
    public CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type) {
        return group.allReduceAsync("an array", buffer, count, type, ReduceOp.AVG);
    }

    @Override
    public int sum(int number) {
        return (int) group.combine(number, ReduceOp.SUM);
    }

    @Override
    public CompletableFuture<Void> sum(
            List<MemorySegment> buffers, long count, DataType type, int contributions, int divisor) {
        return group.reproducibleSumAsync("an array", buffers, count, type, contributions, divisor);
    }

    @Override
    public @Nullable JoinedGpus joinGpus(List<Device> devices, List<NDArray> gradients) {
        return gpus.join(devices, gradients);
    }
}
