package dev.banyan.cuda;

import java.util.concurrent.CompletableFuture;
import jcuda.driver.CUevent;

/** A launch of a graph. */
final class Run {
    private final CudaExecutable executable;
    private final Graph graph;
    private final CUevent ended;
    private final CompletableFuture<Void> future = new CompletableFuture<>();
    private boolean hasMarks = true;

    /** @param ended an event behind the graph */
    Run(CudaExecutable executable, Graph graph, CUevent ended) {
        this.executable = executable;
        this.graph = graph;
        this.ended = ended;
    }

    CudaExecutable executable() {
        return executable;
    }

    Graph graph() {
        return graph;
    }

    CUevent ended() {
        return ended;
    }

    /** Completes when the run has ended. */
    CompletableFuture<Void> future() {
        return future;
    }

    /**
     * Whether the marks of the executable are those of this run, and of no later one. Guarded by the lock of {@link
     * Runs}.
     */
    boolean hasMarks() {
        return hasMarks;
    }

    /** Leaves the marks to a later run. */
    void loseMarks() {
        hasMarks = false;
    }
}
