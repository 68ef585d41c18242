package dev.banyan.reduce.cuda;

import dev.banyan.reduce.backend.CallerStreams;
import java.util.List;
import jcuda.driver.CUstream;

/**
 * CUDA streams of the caller.
 *
 * @param streams of each rank, made in the primary context of the rank's device
 */
public record CudaStreams(List<CUstream> streams) implements CallerStreams {
    public CudaStreams {
        streams = List.copyOf(streams);
    }

    @Override
    public int size() {
        return streams.size();
    }
}
