package dev.banyan.cuda.internal.driver;

import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;

/**
 * Waits for the driver. A result is seen at most a sixteenth of the time later than it is there: a wait naps that long,
 * and until such a nap is possible it spins, after a while in turns with other threads. Used by one thread.
 */
public final class Waiting {
    /** For how long a wait spins without giving way to other threads, in ns. */
    public static final long ALONE_NANOS = 100_000;

    private static final int NAP_PART = 16;
    private static final long LONGEST_NAP_NANOS = 1_000_000;

    private static final long SHORTEST_NAP_NANOS = shortestNap();

    private long begun;

    public Waiting() {
        begin();
    }

    /** Begins another wait. */
    public void begin() {
        begun = System.nanoTime();
    }

    /** Returns whether it is too early to nap. */
    public boolean spins() {
        return nap(waited(), SHORTEST_NAP_NANOS) == 0;
    }

    private long waited() {
        return System.nanoTime() - begun;
    }

    /** Spins once, or naps. */
    public void pause() {
        long waited = waited();
        long nap = nap(waited, SHORTEST_NAP_NANOS);
        if (nap > 0) {
            LockSupport.parkNanos(nap);
        } else if (waited < ALONE_NANOS) {
            Thread.onSpinWait();
        } else {
            Thread.yield();
        }
    }

    /**
     * Returns how long to ask for as a nap, which lasts longer by the shortest nap, in ns; 0 if it is too early.
     *
     * @param shortest how long the shortest nap lasts: some 55 us, or 1 ms where timers are coarse
     */
    static long nap(long waited, long shortest) {
        long part = Math.min(waited / NAP_PART, LONGEST_NAP_NANOS + shortest);
        return part <= shortest ? 0 : part - shortest;
    }

    /**
     * Returns how long the shortest nap lasts in truth, in ns, whatever length it asks for; at most 1 ms, as a longer
     * one shows a busy machine.
     */
    private static long shortestNap() {
        // An interrupted thread cannot nap.
        boolean interrupted = Thread.interrupted();
        long[] naps = new long[5];
        for (int i = 0; i < naps.length; i++) {
            long begun = System.nanoTime();
            LockSupport.parkNanos(1);
            naps[i] = System.nanoTime() - begun;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        Arrays.sort(naps);
        return Math.min(naps[naps.length / 2], LONGEST_NAP_NANOS);
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
