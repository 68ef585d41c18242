package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.CaptureMode;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.job.JobPeers;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/**
 * The runs of a backend, which follow each other on the devices. A daemon thread, the watcher, sees their ends and
 * tells their completions; so does every thread that polls. A run that fails, or that has not ended when the timeout
 * has passed since the one before it ended, breaks the queue: all runs that have not ended fail, and no further one is
 * launched.
 *
 * <p>The driver does not promise that an event of one device says what went wrong on another one: it may stay as it is
 * for ever. So all devices are asked for faults about once a millisecond while a run is waited for, and when it has
 * ended or its time is over. A run has ended well if its events have been reached, all of it is marked as done, and
 * then no device has a fault; where kernels report the end of all that they do by words in the host's memory, these are
 * enough. A run whose time is over is asked to stop, if it can, and is then waited for a moment
 * longer: its kernels say what they wait for.
 *
 * <p>Safe for use from any thread.
 */
final class Runs {
    private final CudaDevice first;
    private final DeviceFaults faults;
    private final long timeoutNanos;
    private final LongSupplier clock;
    private final BooleanSupplier busy;
    private final JobPeers jobPeers;
    private final Executor threads;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Runs that are not known to have ended, in the order of their launches; empty after a failure. */
    private final ArrayDeque<Run> inFlight = new ArrayDeque<>();

    /** The time from which the timeout of the first run in flight counts. */
    private long firstSince;

    /** The number of runs that were added. */
    private long started;

    private @Nullable RuntimeException failure;
    private boolean watched;
    private volatile @Nullable Thread watcher;
    /** Completes when the watcher has ended. */
    private final CompletableFuture<Void> unwatched = new CompletableFuture<>();

    private boolean closed;
    /** Threads that poll; the watcher leaves the driver to them. */
    private final AtomicInteger pollers = new AtomicInteger();

    /**
     * @param first the device whose context the stream is in
     * @param devices all devices
     * @param timeoutNanos how long a run may take
     * @param clock the time, as {@link System#nanoTime()}
     * @param busy whether a stream of launches is not known to have come to its end
     * @param jobPeers the processes that take part in the runs
     * @param threads runs the watcher on a new thread
     */
    Runs(
            CudaDevice first,
            Set<CudaDevice> devices,
            long timeoutNanos,
            LongSupplier clock,
            BooleanSupplier busy,
            JobPeers jobPeers,
            Executor threads) {
        this.jobPeers = jobPeers;
        this.threads = threads;
        this.first = first;
        faults = new DeviceFaults(devices);
        this.timeoutNanos = timeoutNanos;
        this.clock = clock;
        this.busy = busy;
    }

    /**
     * Waits for the end of a run that was launched behind those before. The watcher {@linkplain #beginWatching runs}.
     *
     * @param completion learns of it
     * @throws CudaException if an earlier one has failed meanwhile
     */
    void add(Run run, Completion completion) {
        lock.lock();
        try {
            checkUnbroken();
            run.begin(++started, completion);
            jobPeers.started(started);
            if (inFlight.isEmpty()) {
                firstSince = clock.getAsLong();
            }
            inFlight.add(run);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Starts the watcher unless it runs. It must run before anything is launched, as a run that nobody watches never
     * ends.
     *
     * @throws IllegalStateException if there is no thread for it; a later call tries again
     */
    void beginWatching() {
        lock.lock();
        try {
            if (!watched) {
                threads.execute(this::watch);
                watched = true;
            }
        } catch (OutOfMemoryError e) {
            throw new IllegalStateException(
                    "the thread that waits for the ends of runs could not be started; allow this process more threads"
                            + " or memory",
                    e);
        } finally {
            lock.unlock();
        }
    }

    /** Does something to all runs of an executable that are in flight, and returns whether there are any. */
    boolean each(Executable executable, Consumer<Run> what) {
        lock.lock();
        try {
            boolean found = false;
            for (Run run : inFlight) {
                if (run.isOf(executable)) {
                    what.accept(run);
                    found = true;
                }
            }
            return found;
        } finally {
            lock.unlock();
        }
    }

    /** @throws CudaException if a run failed */
    void checkUnbroken() {
        lock.lock();
        try {
            if (failure != null) {
                throw new CudaException(
                        "the communicator is broken since an earlier failure: " + failure.getMessage(), failure);
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns why what was started cannot end, as another process has ended or failed, or null. */
    @Nullable
    RuntimeException lost() {
        return lost(0);
    }

    /** Returns why a further run could not end, as another process has ended, left or failed, or null. */
    @Nullable
    RuntimeException lostForMore() {
        return lost(1);
    }

    private @Nullable RuntimeException lost(int more) {
        if (jobPeers.isAlone()) {
            return null;
        }
        lock.lock();
        try {
            return jobPeers.failure(started + more, "a later call");
        } finally {
            lock.unlock();
        }
    }

    /** Returns whether a run that was launched is not known to have ended. */
    boolean isInFlight(Predicate<Run> which) {
        lock.lock();
        try {
            return failure == null ? inFlight.stream().anyMatch(which) : isStreamBusy();
        } finally {
            lock.unlock();
        }
    }

    /** Returns why no further run is launched, or null. */
    @Nullable
    RuntimeException failure() {
        lock.lock();
        try {
            return failure;
        } finally {
            lock.unlock();
        }
    }

    private boolean isStreamBusy() {
        return !faults.areThere() && busy.getAsBoolean();
    }

    /**
     * Looks for ends on the calling thread until a future is done, or until a wait may nap: the watcher does that. A
     * context is current.
     */
    void poll(Future<?> ended) {
        pollers.incrementAndGet();
        try {
            Waiting waiting = new Waiting();
            while (!ended.isDone() && waiting.spins()) {
                look();
                waiting.pause();
            }
        } finally {
            if (pollers.decrementAndGet() == 0 && hasWatchedRuns()) {
                LockSupport.unpark(watcher);
            }
        }
    }

    /** Runs on the watcher. */
    private void watch() {
        CaptureMode.relaxThread();
        first.tryEnter();
        watcher = Thread.currentThread();
        Waiting waiting = new Waiting();
        for (Run run = next(); run != null; run = next()) {
            waiting.begin();
            while (isFirst(run)) {
                if (pollers.get() > 0) {
                    LockSupport.parkNanos(Waiting.ALONE_NANOS);
                } else {
                    look();
                    waiting.pause();
                }
            }
        }
        unwatched.complete(null);
    }

    private boolean isFirst(Run run) {
        lock.lock();
        try {
            return run.equals(inFlight.peek());
        } finally {
            lock.unlock();
        }
    }

    /** Returns the first run in flight; waits for one, and returns null when there will be none. */
    private @Nullable Run next() {
        lock.lock();
        try {
            while (inFlight.isEmpty() && !closed) {
                changed.awaitUninterruptibly();
            }
            return inFlight.peek();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the runs that have ended, and all where one has failed. */
    private void look() {
        for (Completion ended = takeEnded(); ended != null; ended = takeEnded()) {
            ended.ended(null);
        }
    }

    /** Returns what is to learn that the first run in flight has ended well, or null; a failure breaks the queue. */
    private @Nullable Completion takeEnded() {
        Completion ended = null;
        RuntimeException reason = null;
        lock.lock();
        try {
            Run run = inFlight.peek();
            if (run == null) {
                return null;
            }
            int result = result(run);
            if (result == CUresult.CUDA_SUCCESS) {
                ended = run.completion();
                end(run);
            } else if (result == CUresult.CUDA_ERROR_NOT_READY) {
                boolean late = clock.getAsLong() - firstSince >= timeoutNanos;
                RuntimeException lost = lost(run);
                if (faults.isKnown(late)) {
                    reason = faults.failed(run, CUresult.CUDA_ERROR_LAUNCH_FAILED);
                } else if ((late || lost != null) && !run.stop()) {
                    reason = lost == null ? faults.late(run, timeoutNanos) : lost;
                }
            } else {
                RuntimeException stopped = faults.isKnown(true) ? null : stopped(run);
                reason = stopped == null ? faults.failed(run, result) : stopped;
            }
        } finally {
            lock.unlock();
        }
        if (reason != null) {
            breakWith(reason);
        }
        return ended;
    }

    /** Returns why a run has ended early, or null: another process is a better reason than that its data is missing. */
    private @Nullable RuntimeException stopped(Run run) {
        RuntimeException stopped = run.stopped();
        RuntimeException lost = stopped == null ? null : lost(run);
        return lost == null ? stopped : lost;
    }

    private @Nullable RuntimeException lost(Run run) {
        return jobPeers.isAlone() ? null : jobPeers.failure(run.number(), run.name());
    }

    private void end(Run run) {
        inFlight.remove();
        firstSince = clock.getAsLong();
        run.recycle();
        changed.signalAll();
    }

    /** Returns CUDA_SUCCESS if a run has ended well, CUDA_ERROR_NOT_READY if it has not ended, or an error. */
    private int result(Run run) {
        int result = run.result();
        return result == CUresult.CUDA_SUCCESS && faults.isKnown(!run.reportsItsEnd())
                ? CUresult.CUDA_ERROR_LAUNCH_FAILED
                : result;
    }

    /**
     * Returns what to report for an error of the driver: the fault of a device if there is one and no run has failed.
     *
     * @param failing says what failed on a faulty device; null for the message of the error
     */
    CudaException explain(CudaException error, @Nullable Function<CudaDevice, String> failing) {
        return failure() == null ? faults.explain(error, failing) : error;
    }

    /** Fails all runs that have not ended; no further one is launched. */
    void breakWith(RuntimeException reason) {
        List<Run> failing;
        lock.lock();
        try {
            if (failure == null) {
                failure = reason;
            }
            failing = List.copyOf(inFlight);
            inFlight.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        jobPeers.fail();
        failing.forEach(run -> run.completion().ended(reason));
    }

    /**
     * Waits until every run has ended or timed out, and ends the watcher. When a run has failed without a fault of a
     * device, what its failure left running gets another timeout to end.
     */
    void close() {
        Waiting.whileBusy(
                () -> {
                    look();
                    return hasWatchedRuns();
                },
                clock,
                Long.MAX_VALUE);
        boolean late;
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
            late = failure instanceof CollectiveTimeoutException;
            if (!watched) {
                unwatched.complete(null);
            }
        } finally {
            lock.unlock();
        }
        unwatched.join();
        faults.note();
        if (late || ProcessFault.isThere()) {
            return;
        }
        Waiting.whileBusy(this::isStreamBusy, clock, timeoutNanos);
    }

    private boolean hasWatchedRuns() {
        lock.lock();
        try {
            return !inFlight.isEmpty();
        } finally {
            lock.unlock();
        }
    }
}
