package dev.banyan.reduce.internal;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The library's own timer. It has one daemon thread, so that a program that blocks a common pool cannot disarm a
 * deadline. Its tasks must be short and must not run code of users; {@link Completions} runs that.
 *
 * <p>Safe for use from any thread.
 */
public final class Deadlines {
    private static final ScheduledThreadPoolExecutor TIMER = timer();

    private Deadlines() {}

    private static ScheduledThreadPoolExecutor timer() {
        ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
                1, task -> Thread.ofPlatform().daemon().name("banyan-timer").unstarted(task));
        timer.setRemoveOnCancelPolicy(true);
        return timer;
    }

    /**
     * Runs a task after a delay.
     *
     * @param task returns soon and throws nothing
     * @param delayNanos delay in ns; a task whose delay is not positive runs at once on the timer's thread
     * @return cancels the task
     */
    public static Future<?> after(long delayNanos, Runnable task) {
        return TIMER.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
    }
}
