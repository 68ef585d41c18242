package dev.banyan.reduce.backend;

import java.lang.foreign.MemorySegment;

/**
 * A schedule that is ready to run on a backend. It has scratch memory of its own, so one run of it at a
 * time; different executables of a backend may run at the same time.
 */
public interface Executable extends AutoCloseable {
    /**
     * Runs it and returns when every output is complete.
     *
     * @param inputs each rank's input; ignored (may be any segment) where the rank has none or the
     *     schedule is in place
     * @param outputs each rank's output; in place, each rank's only buffer
     * @throws CollectiveTimeoutException if it does not end within the backend's timeout
     */
    void run(MemorySegment[] inputs, MemorySegment[] outputs);

    /**
     * The same within streams of the caller: the run begins when the work that is in them now has ended, and work that
     * is put into them after {@code begun} waits for its end.
     *
     * @param begun called once, when the run has its place in the streams
     * @throws IllegalArgumentException if the backend has no such streams
     */
    default void run(MemorySegment[] inputs, MemorySegment[] outputs, CallerStreams streams, Runnable begun) {
        throw new IllegalArgumentException("this backend knows no streams; run the call without them");
    }

    /** Frees its scratch memory. */
    @Override
    void close();
}
