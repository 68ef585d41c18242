package dev.banyan.cuda.internal.driver;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;

/**
 * Waits for the driver. It spins where the end is near: at first, as most collectives of small arrays end soon, and
 * around the time at which the end is expected. Else it naps: up to that time, and after it for a small part of the
 * time that it has waited. Used by one thread.
 */
public final class Waiting {
    /** For how long a wait spins at first, before and after the expected end, in ns. */
    public static final long SPIN_NANOS = 100_000;

    /** A shorter nap would last longer than it says. */
    private static final long SHORTEST_NAP_NANOS = 50_000;

    private static final long LONGEST_NAP_NANOS = 1_000_000;
    /** A nap is this part of the time before it, so that a result is seen at most that much later than it was there. */
    private static final int NAP_PART = 16;

    private long begun;
    private long expected;

    /** A wait for what takes an unknown time. */
    public Waiting() {
        this(0);
    }

    /** @param expectedNanos for how long the wait is going to last, in ns; 0 if unknown */
    public Waiting(long expectedNanos) {
        begin(expectedNanos);
    }

    /** Begins another wait. */
    public void begin(long expectedNanos) {
        begun = System.nanoTime();
        expected = expectedNanos;
    }

    /** Returns whether it is time to spin. */
    public boolean spins() {
        long waited = System.nanoTime() - begun;
        return expected <= 2 * SPIN_NANOS ? waited < expected + SPIN_NANOS : Math.abs(waited - expected) < SPIN_NANOS;
    }

    /** Spins once, or naps. */
    public void pause() {
        if (spins()) {
            Thread.onSpinWait();
        } else {
            nap();
        }
    }

    /** Naps. */
    void nap() {
        long waited = System.nanoTime() - begun;
        long left = expected - SPIN_NANOS - waited;
        LockSupport.parkNanos(Math.clamp(left > 0 ? left : waited / NAP_PART, SHORTEST_NAP_NANOS, LONGEST_NAP_NANOS));
    }

    /**
     * Waits until something is no longer busy, or the timeout has passed.
     *
     * @param clock the time, as {@link System#nanoTime()}
     */
    public static void whileBusy(BooleanSupplier busy, LongSupplier clock, long timeoutNanos) {
        until(() -> busy.getAsBoolean() ? CUresult.CUDA_ERROR_NOT_READY : CUresult.CUDA_SUCCESS, clock, timeoutNanos);
    }

    /**
     * Asks until the answer is another one than CUDA_ERROR_NOT_READY, or the timeout has passed.
     *
     * @param query cuEventQuery or cuStreamQuery
     * @param clock the time, as {@link System#nanoTime()}
     * @return the last answer
     */
    public static int until(IntSupplier query, LongSupplier clock, long timeoutNanos) {
        Waiting waiting = new Waiting();
        long begun = clock.getAsLong();
        boolean interrupted = false;
        int result = query.getAsInt();
        while (result == CUresult.CUDA_ERROR_NOT_READY && clock.getAsLong() - begun < timeoutNanos) {
            waiting.pause();
            interrupted |= Thread.interrupted();
            result = query.getAsInt();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return result;
    }
}
