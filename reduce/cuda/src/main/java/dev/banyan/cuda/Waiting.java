package dev.banyan.cuda;

import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import jcuda.driver.CUresult;

/**
 * Waits for the driver: at first it spins, as most collectives of small arrays end soon, then it naps for a small part
 * of the time that it has waited. Used by one thread.
 */
final class Waiting {
    /** For how long a wait spins, in ns. */
    static final long SPIN_NANOS = 100_000;

    private static final long SHORTEST_NAP_NANOS = 20_000;
    private static final long LONGEST_NAP_NANOS = 1_000_000;
    /** A nap is this part of the time before it, so that a result is seen at most that much later than it was there. */
    private static final int NAP_PART = 16;

    private final long begun = System.nanoTime();

    /** Spins once, or naps where the wait has lasted longer than {@link #SPIN_NANOS}. */
    void pause() {
        if (System.nanoTime() - begun < SPIN_NANOS) {
            Thread.onSpinWait();
        } else {
            nap();
        }
    }

    /** Naps. */
    void nap() {
        long waited = System.nanoTime() - begun;
        LockSupport.parkNanos(Math.clamp(waited / NAP_PART, SHORTEST_NAP_NANOS, LONGEST_NAP_NANOS));
    }

    /**
     * Asks until the answer is another one than CUDA_ERROR_NOT_READY, or the deadline has passed.
     *
     * @param query cuEventQuery or cuStreamQuery
     * @param deadline value of {@link System#nanoTime()}
     * @return the last answer
     */
    static int until(IntSupplier query, long deadline) {
        Waiting waiting = new Waiting();
        boolean interrupted = false;
        int result = query.getAsInt();
        while (result == CUresult.CUDA_ERROR_NOT_READY && System.nanoTime() - deadline < 0) {
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
