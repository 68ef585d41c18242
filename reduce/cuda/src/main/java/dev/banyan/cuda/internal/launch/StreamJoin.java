package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.backend.CallerStreams;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureStatus;
import jcuda.driver.JCudaDriver;

/** Puts a backend's streams behind and before what is in the caller's, by events. Used by one thread at a time. */
final class StreamJoin {
    private static final String CALLERS = " the caller's stream";

    private final List<CudaDevice> ranks;
    /** One per rank; made when first needed. */
    private final List<CUevent> reached = new ArrayList<>();

    private final List<DriverObjects> owners = new ArrayList<>();
    private final int[] captureStatus = new int[1];

    /** @param ranks the device of each rank */
    StreamJoin(List<CudaDevice> ranks) {
        this.ranks = ranks;
    }

    /** @throws IllegalArgumentException if they are no CUDA streams, one for each rank */
    CudaStreams check(CallerStreams streams) {
        if (!(streams instanceof CudaStreams cuda)) {
            throw new IllegalArgumentException("streams of another kind for a CUDA backend; give CudaStreams");
        }
        if (cuda.size() != ranks.size()) {
            throw new IllegalArgumentException(
                    cuda.size() + " streams for " + ranks.size() + " ranks; give one for each");
        }
        return cuda;
    }

    /**
     * Lets what is put into the backend's streams from now on wait for what is in the caller's streams.
     *
     * @param own the backend's stream for each rank
     * @throws IllegalArgumentException if one of them captures a graph, which would capture the backend's stream too
     */
    void after(CudaStreams streams, IntFunction<CUstream> own) {
        for (int rank = 0; rank < ranks.size(); rank++) {
            Cuda.check(
                    JCudaDriver.cuStreamIsCapturing(streams.streams().get(rank), captureStatus),
                    "cuStreamIsCapturing of",
                    CALLERS,
                    ranks.get(rank));
            if (captureStatus[0] != CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE) {
                throw new IllegalArgumentException("the stream of rank " + rank
                        + " captures a graph, and a collective can't be part of one, as its flags have other values in"
                        + " each run; end the capture first");
            }
        }
        for (int rank = 0; rank < ranks.size(); rank++) {
            CudaDevice device = ranks.get(rank);
            device.enter();
            if (rank == reached.size()) {
                DriverObjects objects = new DriverObjects(device);
                reached.add(objects.event());
                owners.add(objects);
            }
            Cuda.check(
                    JCudaDriver.cuEventRecord(
                            reached.get(rank), streams.streams().get(rank)),
                    "cuEventRecord in",
                    CALLERS,
                    device);
            Cuda.check(
                    JCudaDriver.cuStreamWaitEvent(own.apply(rank), reached.get(rank), 0),
                    "cuStreamWaitEvent for",
                    CALLERS,
                    device);
        }
    }

    /**
     * Lets what is put into the caller's streams from now on wait for events.
     *
     * @param done the event for each rank
     */
    void before(CudaStreams streams, IntFunction<CUevent> done) {
        for (int rank = 0; rank < ranks.size(); rank++) {
            ranks.get(rank).enter();
            Cuda.check(
                    JCudaDriver.cuStreamWaitEvent(streams.streams().get(rank), done.apply(rank), 0),
                    "cuStreamWaitEvent in",
                    CALLERS,
                    ranks.get(rank));
        }
    }

    /**
     * Frees the events.
     *
     * @return results of the driver
     */
    List<Integer> free() {
        reached.clear();
        return owners.stream().flatMap(objects -> objects.free().stream()).toList();
    }
}
