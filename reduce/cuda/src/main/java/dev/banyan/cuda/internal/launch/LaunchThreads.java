package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.CaptureMode;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.WorkerPool;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Daemon threads that launch beside the calling one: the launch on one device takes microseconds of the host, so that
 * one thread delays the last of eight devices by the launches on seven others.
 *
 * <p>The calling thread and each helper that is awake take the next device until none is left. A helper polls for
 * {@link #POLL_NANOS} after a round, and only rounds that follow each other as closely wake it: a round never waits for
 * a thread to wake up, and single rounds wake no thread. Where helpers find no core, some rounds go without them. A
 * round allocates nothing.
 *
 * <p>Used by one thread at a time, but for {@link #isWorking}.
 */
public final class LaunchThreads implements WorkerPool.Task {
    /** As long as some small collectives take. */
    private static final long POLL_NANOS = 200_000;

    private final WorkerPool pool;
    private final int devices;
    private final long timeoutNanos;
    private final IntConsumer launch;
    private final AtomicInteger next = new AtomicInteger();
    /** The exceptions of the launches of this round, by device; each is written by the thread that took the device. */
    private final Throwable[] failures;

    /**
     * @param threads that launch, the calling one among them; at least 1
     * @param devices number of devices
     * @param timeoutNanos how long a round may take
     * @param launch launches on a device, 0..devices-1; called by any of the threads, for one device at a time
     */
    public LaunchThreads(int threads, int devices, long timeoutNanos, IntConsumer launch) {
        this.devices = devices;
        this.timeoutNanos = timeoutNanos;
        this.launch = launch;
        failures = new Throwable[devices];
        pool = new WorkerPool(
                "banyan-cuda-launch", Math.min(threads, devices) - 1, POLL_NANOS, CaptureMode::relaxThread);
    }

    /** Returns how many threads launch on some devices if nothing else is said: no more than a quarter of the cores. */
    public static int fitting(int devices) {
        return Math.clamp(Runtime.getRuntime().availableProcessors() / 4, 1, devices);
    }

    /**
     * Launches on all devices, and returns when that is done.
     *
     * @throws CudaException if a launch of a helper does not return in time; there must be no further round then
     * @throws RuntimeException what a launch has thrown, of the first device that did, as errors are too; all others
     *     were launched
     */
    public void launchAll() {
        next.setPlain(0);
        try {
            pool.run(this, pool.helpers(), 0, System.nanoTime() + timeoutNanos);
        } catch (CollectiveTimeoutException e) {
            throw new CudaException(
                    "a launch did not return within " + Math.ceilDiv(timeoutNanos, 1_000_000)
                            + " ms; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS",
                    e);
        }
        throwFirstFailure();
    }

    /** Launches on devices of a round until another thread has taken the last one. */
    @Override
    public void work(int participant) {
        for (int d = next.getAndIncrement(); d < devices; d = next.getAndIncrement()) {
            try {
                launch.accept(d);
            } catch (Throwable e) {
                failures[d] = e;
            }
        }
    }

    @SuppressWarnings("NullAway") // an array of what may be null
    private void throwFirstFailure() {
        for (int d = 0; d < devices; d++) {
            Throwable failure = failures[d];
            if (failure != null) {
                Arrays.fill(failures, null);
                switch (failure) {
                    case RuntimeException e -> throw e;
                    case Error e -> throw e;
                    default -> throw new IllegalStateException(failure);
                }
            }
        }
    }

    /** Returns whether a launch that {@link #launchAll} gave up has not returned. */
    public boolean isWorking() {
        return pool.isWorking();
    }

    /** Ends the helpers. */
    public void close() {
        pool.close();
    }
}
