package dev.banyan.gpuday;

import java.time.Duration;

/**
 * The effort of a measurement: the lengths of its arrays, its repetitions and its time limit. Safe for use from any
 * thread.
 */
public final class Effort {
    private static final int SAMPLES = 15;
    private static final int LAUNCHES = 201;
    private static final int QUICK_SAMPLES = 3;

    private final boolean quick;
    private final long end;

    /**
     * @param quick whether to take the smallest arrays and the fewest repetitions, to try the measurement rather than
     *     the machine
     * @param time after which nothing further is begun
     */
    public Effort(boolean quick, Duration time) {
        this.quick = quick;
        end = System.nanoTime() + time.toNanos();
    }

    boolean isQuick() {
        return quick;
    }

    /** Returns whether the time is over. */
    boolean isOver() {
        return System.nanoTime() - end >= 0;
    }

    /** Number of samples of each figure. */
    int samples() {
        return quick ? QUICK_SAMPLES : SAMPLES;
    }

    /** Number of samples of figures of some us each, which the host's clock takes. */
    int launches() {
        return quick ? QUICK_SAMPLES : LAUNCHES;
    }

    /** The one value or the other. */
    long choose(long full, long small) {
        return quick ? small : full;
    }
}
