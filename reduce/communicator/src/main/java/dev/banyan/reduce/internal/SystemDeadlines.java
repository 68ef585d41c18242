package dev.banyan.reduce.internal;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Has a timer of one daemon thread, so that a program that blocks a common pool cannot disarm a deadline. */
final class SystemDeadlines implements Deadlines {
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(
            1, task -> Thread.ofPlatform().daemon().name("banyan-timer").unstarted(task));

    SystemDeadlines() {
        timer.setRemoveOnCancelPolicy(true);
    }

    @Override
    public long nanoTime() {
        return System.nanoTime();
    }

    @Override
    public Future<?> after(long delayNanos, Runnable task) {
        // Throws if the system has no thread for the timer; otherwise the task would be in its queue for ever.
        boolean _ = timer.prestartCoreThread();
        return timer.schedule(task, delayNanos, TimeUnit.NANOSECONDS);
    }
}
