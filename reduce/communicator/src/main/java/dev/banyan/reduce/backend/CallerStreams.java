package dev.banyan.reduce.backend;

/**
 * Streams of the caller, one per rank, in which a run takes its place. Each backend with streams has its own class and
 * rejects others: {@code dev.banyan.cuda.type.CudaStreams} on GPUs. The host backend has none.
 */
public interface CallerStreams {
    /** Returns the number of streams, which must be that of ranks. */
    int size();
}
