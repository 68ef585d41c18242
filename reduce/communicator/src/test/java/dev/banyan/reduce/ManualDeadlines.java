package dev.banyan.reduce;

import dev.banyan.reduce.internal.Deadlines;
import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;

/** A clock that stands still until the test moves it on. */
final class ManualDeadlines implements Deadlines {
    private record Timed(long at, FutureTask<?> task) {}

    private final PriorityQueue<Timed> tasks = new PriorityQueue<>(Comparator.comparingLong(Timed::at));
    private long now;

    @Override
    public synchronized long nanoTime() {
        return now;
    }

    @Override
    public synchronized Future<?> after(long delayNanos, Runnable task) {
        FutureTask<?> timed = new FutureTask<>(task, null);
        tasks.add(new Timed(now + Math.max(0, delayNanos), timed));
        return timed;
    }

    /** Runs the tasks of the time that passes, each at its own time. */
    void advance(Duration duration) {
        long end = nanoTime() + duration.toNanos();
        for (FutureTask<?> due = next(end); due != null; due = next(end)) {
            due.run();
        }
    }

    private synchronized @Nullable FutureTask<?> next(long end) {
        Timed first = tasks.peek();
        if (first == null || first.at > end) {
            now = end;
            return null;
        }
        now = first.at;
        return tasks.remove().task;
    }
}
