package dev.banyan.cuda.type;

import dev.banyan.reduce.backend.CallerStreams;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import jcuda.driver.CUstream;

/**
 * CUDA streams of the caller.
 *
 * @param streams of each rank, made in the primary context of the rank's device
 */
public record CudaStreams(List<CUstream> streams) implements CallerStreams {
    /** JCuda's constructor, which it keeps to itself. */
    private static final MethodHandle OF_HANDLE = constructor();

    public CudaStreams {
        streams = List.copyOf(streams);
    }

    /**
     * Streams by their handles, as CUDA's runtime and PyTorch report them.
     *
     * @param handles the cudaStream_t or CUstream of each rank; 0 for the default stream
     */
    public static CudaStreams of(long... handles) {
        return new CudaStreams(
                LongStream.of(handles).mapToObj(CudaStreams::stream).toList());
    }

    private static CUstream stream(long handle) {
        try {
            return (CUstream) OF_HANDLE.invokeExact(handle);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("the constructor throws no checked exceptions", e);
        }
    }

    private static MethodHandle constructor() {
        try {
            return MethodHandles.privateLookupIn(CUstream.class, MethodHandles.lookup())
                    .findConstructor(CUstream.class, MethodType.methodType(void.class, long.class));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(
                    "this release of JCuda makes no CUstream of a handle; take release 12.6.0, or pass CUstreams", e);
        }
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
