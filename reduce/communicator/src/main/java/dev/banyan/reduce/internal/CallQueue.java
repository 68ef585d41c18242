package dev.banyan.reduce.internal;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Completion;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Starts calls one at a time, in the order of submission. A blocking call that finds nothing before it starts on its
 * caller's thread; all others start on one daemon thread, which begins with the first of them and is parked while there
 * is none. A call that returns before it has ended (work on a device) keeps no later call from starting.
 *
 * <p>A call's timeout counts from its start, or from the end of the call before it if that is later. A call that has
 * not ended a grace period after its timeout breaks the queue: that call and all others that have not ended fail, and
 * the queue takes no more. A call that fails with a {@link CollectiveTimeoutException} breaks it,
 * too. The timer of {@link Deadlines} is armed while there is something to watch.
 *
 * <p>Safe for use from any thread, also from dependents of a call's future, which run on threads of their own
 * ({@link Completions}).
 */
public final class CallQueue implements AutoCloseable {
    /** A call, which a queue starts. */
    @FunctionalInterface
    public interface Call {
        /** Prepares the call. The call's timeout does not count while this runs. */
        default void prepare() {}

        /**
         * Starts the call.
         *
         * @param completion learns of the end unless the method throws, perhaps before the method returns
         */
        void start(Completion completion);

        /** Returns the number of runs that the call consists of, at least 1; the call may take so many timeouts. */
        default int runCount() {
            return 1;
        }

        /** Polls for the end of the call for a short time, on a thread that is about to wait for it. */
        default void poll(Future<?> ended) {}
    }

    private final class Pending implements Completion {
        final Call call;
        /** Completes when the call has ended. No code of users depends on it. */
        final CompletableFuture<Void> ended = new CompletableFuture<>();
        /** Completes when the call has started, or failed before. */
        final CompletableFuture<Void> begun = new CompletableFuture<>();

        Pending(Call call) {
            this.call = call;
        }

        @Override
        public void ended(@Nullable Throwable thrown) {
            end(this, thrown);
        }
    }

    private final String name;
    private final Duration timeout;
    private final Deadlines deadlines;
    private final long patienceNanos;
    private final long graceNanos;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Pending> waiting = new ArrayDeque<>();
    /** Calls that have started and not ended, in the order of their starts. The timeout of the first one counts. */
    private final ArrayDeque<Pending> inFlight = new ArrayDeque<>();
    /** Value of {@link Deadlines#nanoTime()} at which the first call in flight became the first. */
    private long firstSince;

    /** The call whose start has not returned: no other one starts meanwhile. */
    private @Nullable Pending starting;

    private boolean watched;
    private boolean dispatching;
    private boolean closed;
    private @Nullable RuntimeException failure;

    /**
     * Makes a queue whose calls are late by the system's clock.
     *
     * @param name the daemon thread's name
     * @param timeout how long a run of a call may take
     * @param grace the time beyond the timeout in which a call may report the timeout itself
     */
    public CallQueue(String name, Duration timeout, Duration grace) {
        this(name, timeout, grace, Deadlines.SYSTEM);
    }

    /**
     * @param name the daemon thread's name
     * @param timeout how long a run of a call may take
     * @param grace the time beyond the timeout in which a call may report the timeout itself
     * @param deadlines the clock by which calls are late
     */
    public CallQueue(String name, Duration timeout, Duration grace, Deadlines deadlines) {
        this.name = name;
        this.deadlines = deadlines;
        this.timeout = timeout;
        graceNanos = TimeUnit.NANOSECONDS.convert(grace);
        patienceNanos = Math.min(TimeUnit.NANOSECONDS.convert(timeout), Long.MAX_VALUE / 2) + graceNanos;
    }

    /** Runs a call and returns when it has ended; throws what it failed with. */
    public void run(Call call) {
        Pending pending = new Pending(call);
        startOrSubmit(pending);
        call.poll(pending.ended);
        Completions.join(pending.ended);
    }

    /** Runs work after the calls that were submitted before and returns when it has ended; throws what it threw. */
    public void run(Runnable work) {
        run(started(work));
    }

    private static Call started(Runnable work) {
        return completion -> {
            work.run();
            completion.ended(null);
        };
    }

    /**
     * Starts a call after those that were submitted before, and returns when it has started.
     *
     * @return a copy for the caller, which completes when the call has ended
     */
    public CompletableFuture<Void> enqueue(Call call) {
        Pending pending = new Pending(call);
        CompletableFuture<Void> copy = Completions.copyOf(pending.ended);
        startOrSubmit(pending);
        pending.begun.join();
        return copy;
    }

    /** Starts a call on the calling thread if nothing is before it, else submits it. */
    private void startOrSubmit(Pending pending) {
        boolean mine;
        lock.lock();
        try {
            checkUsable();
            mine = starting == null && waiting.isEmpty();
            if (mine) {
                starting = pending;
            } else {
                enqueue(pending);
            }
        } finally {
            lock.unlock();
        }
        if (mine) {
            start(pending);
        }
    }

    /**
     * Runs work later, on the queue's thread.
     *
     * @return a copy for the caller, which completes when the work has ended
     */
    public CompletableFuture<Void> submit(Runnable work) {
        return launch(started(work));
    }

    /**
     * Starts a call later, on the queue's thread.
     *
     * @return a copy for the caller, which completes when the call has ended
     */
    public CompletableFuture<Void> launch(Call call) {
        Pending pending = new Pending(call);
        CompletableFuture<Void> copy = Completions.copyOf(pending.ended);
        lock.lock();
        try {
            checkUsable();
            enqueue(pending);
        } finally {
            lock.unlock();
        }
        return copy;
    }

    /** Fails all calls that have not ended, and takes no more. Without effect once the queue is closed and idle. */
    public void fail(RuntimeException reason) {
        boolean ended;
        lock.lock();
        try {
            ended = closed && !busy() && waiting.isEmpty();
        } finally {
            lock.unlock();
        }
        if (!ended) {
            breakWith(reason);
        }
    }

    /** Returns whether a call has begun and has not ended. The caller holds the lock. */
    private boolean busy() {
        return starting != null || !inFlight.isEmpty();
    }

    /** Returns why the queue takes no more calls, or null if it does or was closed. */
    public @Nullable RuntimeException failure() {
        lock.lock();
        try {
            return failure;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for all calls that were submitted, and takes no more. If the queue is or gets broken, calls have the grace
     * period to return.
     *
     * @throws CollectiveTimeoutException if the queue is broken and a call has not returned
     */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
            while (failure == null && (busy() || !waiting.isEmpty())) {
                changed.awaitUninterruptibly();
            }
            if (failure != null) {
                awaitReturns();
                if (busy()) {
                    throw new CollectiveTimeoutException("memory cannot be freed yet, since a call has not returned"
                            + " (" + failure.getMessage() + "); close again later, or end the process");
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private void awaitReturns() {
        boolean interrupted = false;
        long end = System.nanoTime() + graceNanos;
        for (long left = graceNanos; busy() && left > 0; left = end - System.nanoTime()) {
            try {
                var _ = changed.awaitNanos(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void checkUsable() {
        if (failure != null) {
            throw new IllegalStateException(
                    "the communicator is broken: " + failure.getMessage() + "; create a new one", failure);
        }
        if (closed) {
            throw new IllegalStateException("the communicator is closed; create a new one");
        }
    }

    private void enqueue(Pending pending) {
        if (!dispatching) {
            Thread.ofPlatform().daemon().name(name).start(this::dispatch);
            // Only now, since the start may fail.
            dispatching = true;
        }
        waiting.add(pending);
        changed.signalAll();
    }

    /** Runs on the daemon thread until the queue is closed or broken. */
    private void dispatch() {
        for (Pending next = take(); next != null; next = take()) {
            start(next);
        }
    }

    /** Returns the next call, which the calling thread must start, or null if there will be none. */
    private @Nullable Pending take() {
        lock.lock();
        try {
            while (starting != null || waiting.isEmpty()) {
                if (failure != null || (closed && waiting.isEmpty())) {
                    return null;
                }
                changed.awaitUninterruptibly();
            }
            Pending next = waiting.remove();
            starting = next;
            return next;
        } finally {
            lock.unlock();
        }
    }

    private void start(Pending pending) {
        try {
            pending.call.prepare();
            arm(pending);
            pending.call.start(pending);
        } catch (Throwable e) {
            pending.ended(e);
        }
        if (!pending.ended.isDone()) {
            release(pending);
        }
        pending.begun.complete(null);
    }

    /** Lets the next call start. */
    private void release(Pending pending) {
        lock.lock();
        try {
            if (pending.equals(starting)) {
                starting = null;
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Puts a call behind those in flight; throws the reason if the queue broke before. */
    private void arm(Pending pending) {
        lock.lock();
        try {
            if (failure != null) {
                throw failure;
            }
            if (inFlight.isEmpty()) {
                firstSince = deadlines.nanoTime();
            }
            inFlight.add(pending);
            watch();
        } finally {
            lock.unlock();
        }
    }

    private void end(Pending pending, @Nullable Throwable thrown) {
        if (thrown instanceof CollectiveTimeoutException late) {
            // Before another call may start.
            breakWith(late);
        }
        lock.lock();
        try {
            if (pending.equals(inFlight.peek())) {
                firstSince = deadlines.nanoTime();
            }
            inFlight.remove(pending);
            release(pending);
        } finally {
            lock.unlock();
        }
        if (thrown == null) {
            pending.ended.complete(null);
        } else {
            pending.ended.completeExceptionally(thrown);
        }
    }

    /** Arms the timer for the first call in flight. */
    private void watch() {
        if (!watched && !inFlight.isEmpty() && failure == null) {
            // A long batch may end soon and leave a short call the first one.
            var _ = deadlines.after(Math.min(patienceNanos, remaining(inFlight.element())), this::look);
            // Only now, since the timer may fail to start; look() waits for the lock.
            watched = true;
        }
    }

    /** Returns the time after which the first call in flight breaks the queue, in ns. */
    private long remaining(Pending first) {
        int runs = first.call.runCount();
        return Math.min(patienceNanos, Long.MAX_VALUE / 2 / runs) * runs - (deadlines.nanoTime() - firstSince);
    }

    private void look() {
        boolean late;
        lock.lock();
        try {
            watched = false;
            Pending first = inFlight.peek();
            late = first != null && remaining(first) <= 0;
            if (!late) {
                watch();
            }
        } finally {
            lock.unlock();
        }
        if (late) {
            breakWith(new CollectiveTimeoutException("a call did not end within " + timeout.toMillis()
                    + " ms, so this communicator is broken; create a new one, or allow more time by"
                    + " BANYAN_TIMEOUT_MS"));
        }
    }

    private void breakWith(RuntimeException reason) {
        List<Pending> failed = new ArrayList<>();
        lock.lock();
        try {
            if (failure != null) {
                return;
            }
            failure = reason;
            failed.addAll(inFlight);
            failed.addAll(waiting);
            waiting.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        for (Pending pending : failed) {
            pending.ended.completeExceptionally(reason);
            pending.begun.complete(null);
        }
    }
}
