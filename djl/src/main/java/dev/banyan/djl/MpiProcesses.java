package dev.banyan.djl;

import dev.banyan.mpi.ProcessGroup;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/** The processes of an MPI group. */
record MpiProcesses(ProcessGroup group) implements Processes {
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
}
