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

    /** Frees its scratch memory. */
    @Override
    void close();
}
