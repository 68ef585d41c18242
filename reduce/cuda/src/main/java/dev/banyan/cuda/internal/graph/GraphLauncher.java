package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Launcher;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.launch.Pool;
import dev.banyan.cuda.internal.memory.BufferAccess;
import dev.banyan.cuda.type.CudaException;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Launches graphs, one behind the other, in a stream of the first device. It keeps the graphs of all executables of a
 * backend.
 */
public final class GraphLauncher implements Launcher {
    private final LaunchQueue queue;
    private final BufferAccess access;
    private final GraphCache graphs;
    private final CudaDevice first;
    private final DriverObjects objects;
    private final Pool<CUevent> events;
    private final CUstream stream;

    /**
     * @param access checks and opens buffers
     * @param mostNodes bound of the nodes of all graphs
     */
    public GraphLauncher(CudaDevice first, LaunchQueue queue, BufferAccess access, int mostNodes) {
        this.first = first;
        this.queue = queue;
        this.access = access;
        graphs = new GraphCache(
                mostNodes,
                graph -> queue.isInFlight(run ->
                        run instanceof GraphRun ofGraph && ofGraph.graph().equals(graph)));
        objects = new DriverObjects(first);
        events = new Pool<>(objects::event);
        stream = objects.stream();
    }

    @Override
    public CUstream stream(CudaDevice device) {
        return stream;
    }

    @Override
    public void waitFor(List<CUevent> ended) {
        first.enter();
        for (CUevent event : ended) {
            Cuda.check(JCudaDriver.cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent in the stream of graphs");
        }
    }

    /**
     * Launches the graph of a key, which is built where there is none.
     *
     * @throws CudaException if the driver refuses that
     */
    void start(CudaExecutable executable, GraphCache.Key key, Place place) {
        queue.launch(
                this,
                () -> {
                    Graph graph = graphs.get(key, () -> executable.build(key, access));
                    return launch(executable, graph, queue.each(executable, run -> ((GraphRun) run).loseMarks()));
                },
                device -> executable.firstUnfinished(device).failing(executable.name()),
                place);
    }

    /** Destroys the graphs of an executable, none of which is in flight. */
    void forget(CudaExecutable executable) {
        graphs.remove(executable);
    }

    /** @param marksInUse whether an earlier run of the executable may still set its marks */
    private GraphRun launch(CudaExecutable executable, Graph graph, boolean marksInUse) {
        CUevent event = events.take();
        first.enter();
        executable.clearMarks(marksInUse, stream);
        Cuda.check(JCudaDriver.cuGraphLaunch(graph.exec(), stream), "cuGraphLaunch of " + executable.name());
        Cuda.check(JCudaDriver.cuEventRecord(event, stream), "cuEventRecord behind " + executable.name());
        return new GraphRun(first, executable, graph, event, events);
    }

    @Override
    public boolean isBusy() {
        return JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS;
    }

    @Override
    public List<Integer> free() {
        List<Integer> results = new ArrayList<>(graphs.free());
        results.addAll(objects.free());
        return results;
    }
}
