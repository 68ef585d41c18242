package dev.banyan.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import java.util.ArrayList;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/** Puts a backend's stream behind and before what is in the caller's, by events. Used by one thread at a time. */
final class StreamJoin {
    private final List<CudaDevice> ranks;
    private final CUstream own;
    /** One per rank; made when first needed. */
    private final List<CUevent> reached = new ArrayList<>();

    /**
     * @param ranks the device of each rank
     * @param own the backend's stream
     */
    StreamJoin(List<CudaDevice> ranks, CUstream own) {
        this.ranks = ranks;
        this.own = own;
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

    /** What is put into the own stream from now on waits for what is in the others. */
    void after(CudaStreams streams) {
        for (int rank = 0; rank < ranks.size(); rank++) {
            CudaDevice device = ranks.get(rank);
            device.enter();
            if (rank == reached.size()) {
                CUevent event = new CUevent();
                Cuda.check(
                        JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING),
                        "cuEventCreate on device " + device.ordinal());
                reached.add(event);
            }
            Cuda.check(
                    JCudaDriver.cuEventRecord(
                            reached.get(rank), streams.streams().get(rank)),
                    "cuEventRecord in the caller's stream of rank " + rank);
            Cuda.check(
                    JCudaDriver.cuStreamWaitEvent(own, reached.get(rank), 0),
                    "cuStreamWaitEvent for the caller's stream of rank " + rank);
        }
    }

    /** What is put into the streams from now on waits for an event. */
    void before(CudaStreams streams, CUevent done) {
        for (int rank = 0; rank < ranks.size(); rank++) {
            ranks.get(rank).enter();
            Cuda.check(
                    JCudaDriver.cuStreamWaitEvent(streams.streams().get(rank), done, 0),
                    "cuStreamWaitEvent in the caller's stream of rank " + rank);
        }
    }

    /** Gives what the driver's functions gave to whoever checks it. */
    List<Integer> free() {
        List<Integer> results =
                reached.stream().map(JCudaDriver::cuEventDestroy).toList();
        reached.clear();
        return results;
    }
}
