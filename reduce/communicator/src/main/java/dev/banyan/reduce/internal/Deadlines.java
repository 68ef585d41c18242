package dev.banyan.reduce.internal;

import java.util.concurrent.Future;

/**
 * A clock and its timer. Tasks must be short and must not run code of users; {@link Completions} runs that.
 *
 * <p>Safe for use from any thread.
 */
public interface Deadlines {
    /** The system's clock, with the library's own timer. */
    Deadlines SYSTEM = new SystemDeadlines();

    /** Returns the time in ns, as {@link System#nanoTime()} does. */
    long nanoTime();

    /**
     * Runs a task after a delay.
     *
     * @param delayNanos delay in ns; a task whose delay is not positive runs at once on the timer's thread
     * @param task returns soon and throws nothing
     * @return cancels the task
     * @throws OutOfMemoryError if the system has no thread for the timer; the task will not run
     */
    Future<?> after(long delayNanos, Runnable task);
}
