package dev.banyan.reduce.backend;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * A schedule that is ready to run on a backend. Starts of one executable must not overlap; a start may follow one that
 * returned but whose run has not ended, and its run then begins after that one. Different executables of a backend may
 * be started at the same time.
 */
public interface Executable extends AutoCloseable {
    /**
     * Runs the schedule and returns when every output is complete.
     *
     * @param inputs each rank's input; ignored (may be any segment) where the rank has none or the
     *     schedule is in place
     * @param outputs each rank's output; in place, each rank's only buffer
     * @throws CollectiveTimeoutException if it does not end within the backend's timeout
     */
    void run(MemorySegment[] inputs, MemorySegment[] outputs);

    /**
     * Starts the schedule and returns when the run has its place on the devices, in the order of starts. On backends
     * whose devices are threads of the host the run has then ended.
     *
     * @param inputs as for {@link #run}; the array may change after the call
     * @param outputs as for {@link #run}; the array may change after the call
     * @param streams streams of the caller: the run begins when the work that is in them has ended, and work that is
     *     put into them after the call waits for the end of the run; null for none
     * @param completion learns of the end unless the method throws, perhaps before the method returns. The run fails
     *     with a {@link CollectiveTimeoutException} if it takes longer than the backend's timeout, counted from the
     *     end of the run before it
     * @throws IllegalArgumentException if the backend has no such streams
     */
    default void start(
            MemorySegment[] inputs, MemorySegment[] outputs, @Nullable CallerStreams streams, Completion completion) {
        if (streams != null) {
            throw new IllegalArgumentException("this backend has no streams; run the call without them");
        }
        run(inputs, outputs);
        completion.ended(null);
    }

    /**
     * Polls for the end of runs on the calling thread, for a short time. A caller that is about to wait for a run then
     * sees its end sooner than another thread could wake it.
     *
     * @param ended the future for which the caller waits; the method returns early when it is done
     */
    default void poll(Future<?> ended) {}

    /** Returns when a run takes no longer than later ones will, e.g. when its loops are compiled. Runs nothing. */
    default void warmUp() {}

    /** Asks a run to end early with an exception, if the backend can end it. Its outputs are then undefined. */
    default void abort() {}

    /**
     * Frees the scratch memory. If a run has not ended, or a thread is stuck in one, the memory is kept until nothing
     * can access it.
     */
    @Override
    void close();
}
