package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Pool;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/** A launch of a graph, which cannot be ended early. */
final class GraphRun extends Run {
    private final CudaExecutable executable;
    private final Graph graph;
    private final Pool<CUevent> events;
    private boolean hasMarks = true;

    /**
     * @param device of the event
     * @param ended an event behind the graph
     * @param events take it back
     */
    GraphRun(CudaDevice device, CudaExecutable executable, Graph graph, CUevent ended, Pool<CUevent> events) {
        super(List.of(device), List.of(ended));
        this.executable = executable;
        this.graph = graph;
        this.events = events;
    }

    @Override
    protected boolean isOf(Executable other) {
        return executable.equals(other);
    }

    Graph graph() {
        return graph;
    }

    @Override
    protected String name() {
        return executable.name();
    }

    /** Leaves the marks to a later run of the executable, which may have cleared them. */
    void loseMarks() {
        hasMarks = false;
    }

    @Override
    protected int result() {
        int result = reached();
        if (result != CUresult.CUDA_SUCCESS) {
            return result;
        }
        return !hasMarks || executable.isMarked() ? CUresult.CUDA_SUCCESS : CUresult.CUDA_ERROR_LAUNCH_FAILED;
    }

    @Override
    protected Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        return executable.firstUnfinished(wanted);
    }

    @Override
    protected void recycle() {
        events.give(ended().getFirst());
    }
}
