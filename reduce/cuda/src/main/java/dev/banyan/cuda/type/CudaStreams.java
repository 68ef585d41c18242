package dev.banyan.cuda.type;

import dev.banyan.reduce.backend.CallerStreams;
import java.util.List;
import java.util.stream.IntStream;
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

    /** The default stream of each rank's device, which others use that name no stream. */
    public static CudaStreams defaults(int ranks) {
        return new CudaStreams(
                IntStream.range(0, ranks).mapToObj(_ -> new CUstream()).toList());
    }

    @Override
    public int size() {
        return streams.size();
    }
}
