package dev.banyan.reduce.internal.processes;

import java.util.concurrent.TimeUnit;

/**
 * Says once that a wait for other processes has become long, so that nobody watches a silent program until it fails.
 */
final class Reminder {
    private static final long LONG_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final long begin;
    private boolean isGiven;

    /** @param begin of the wait, as {@link System#nanoTime()} has it */
    Reminder(long begin) {
        this.begin = begin;
    }

    /** Returns whether the wait is long and no earlier call returned true. */
    boolean isDue(long now) {
        boolean due = !isGiven && now - begin >= LONG_NANOS;
        isGiven |= due;
        return due;
    }
}
