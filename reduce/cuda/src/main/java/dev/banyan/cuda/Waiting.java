package dev.banyan.cuda;

import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import jcuda.driver.CUresult;

/**
 * Waits for the driver: looks without a break at first, as most collectives of small arrays end soon, then now and
 * then.
 */
final class Waiting {
    private static final long SPIN_NANOS = 100_000;
    private static final long PARK_NANOS = 20_000;

    private Waiting() {}

    /**
     * Asks until the answer is another one than CUDA_ERROR_NOT_READY, or the deadline has passed.
     *
     * @param query cuEventQuery or cuStreamQuery
     * @param deadline value of {@link System#nanoTime()}
     * @return the last answer
     */
    static int until(IntSupplier query, long deadline) {
        long spinEnd = System.nanoTime() + SPIN_NANOS;
        boolean interrupted = false;
        int result = query.getAsInt();
        while (result == CUresult.CUDA_ERROR_NOT_READY) {
            long now = System.nanoTime();
            if (now - deadline >= 0) {
                break;
            }
            if (now - spinEnd < 0) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PARK_NANOS);
                interrupted |= Thread.interrupted();
            }
            result = query.getAsInt();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return result;
    }
}
