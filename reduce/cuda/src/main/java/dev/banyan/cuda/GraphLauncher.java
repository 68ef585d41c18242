package dev.banyan.cuda;

import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** Launches graphs, one behind the other, in a stream of the first device. Used by one thread at a time. */
final class GraphLauncher {
    private final CudaDevice first;
    private final DriverObjects objects;
    private final Pool<CUevent> events;
    private final CUstream stream;

    GraphLauncher(CudaDevice first) {
        this.first = first;
        objects = new DriverObjects(first);
        events = new Pool<>(objects::event);
        stream = objects.stream();
    }

    CUstream stream() {
        return stream;
    }

    /** Lets what is launched from now on wait for events. */
    void waitFor(List<CUevent> ended) {
        first.enter();
        for (CUevent event : ended) {
            Cuda.check(JCudaDriver.cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent in the stream of graphs");
        }
    }

    /**
     * Launches a graph.
     *
     * @param marksInUse whether an earlier run of the executable may still set its marks
     * @throws CudaException if the driver refuses that
     */
    GraphRun launch(CudaExecutable executable, Graph graph, boolean marksInUse) {
        CUevent event = events.take();
        first.enter();
        executable.clearMarks(marksInUse, stream);
        Cuda.check(JCudaDriver.cuGraphLaunch(graph.exec(), stream), "cuGraphLaunch of " + executable.name());
        Cuda.check(JCudaDriver.cuEventRecord(event, stream), "cuEventRecord behind " + executable.name());
        return new GraphRun(executable, graph, event, events);
    }

    /** Returns whether the stream is not known to have come to its end. */
    boolean isBusy() {
        return JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS;
    }

    /**
     * Frees the stream and the events; nothing runs.
     *
     * @return results of the driver
     */
    List<Integer> free() {
        return objects.free();
    }
}
