package dev.banyan.cuda.internal.launch;

/**
 * The time that a run is known to take: until it was last seen to be busy. A wait that naps sees the end late. If the
 * next wait expected that late end, it would nap as long, and would never see that runs are shorter. After a wait that
 * slept through the end, the next one expects little, and its short naps find the end again. Used under a lock.
 */
final class BusyTime {
    private long begun;
    private long seen;

    /** @param nanos the time, as {@link System#nanoTime()} */
    void begin(long nanos) {
        begun = nanos;
        seen = nanos;
    }

    /** Notes that the run is busy. */
    void isBusy(long nanos) {
        seen = nanos;
    }

    /** Returns for how long the run was busy at least, in ns. */
    long known() {
        return seen - begun;
    }

    /** Returns how much of an expected time is left, in ns, at least 0. */
    long left(long expectedNanos, long nanos) {
        return Math.max(0, expectedNanos - (nanos - begun));
    }
}
