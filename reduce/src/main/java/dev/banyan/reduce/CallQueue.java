package dev.banyan.reduce;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Runs calls one at a time, in the order of submission. A blocking call that finds nothing before it runs
 * on its caller's thread; all others run on one daemon thread, which starts with the first of them and is
 * parked while there is none.
 *
 * <p>A call that is still running a grace period after its timeout breaks the queue: that call and all
 * that wait fail, and no other is taken.
 *
 * <p>Safe for use from any thread, also from what depends on a call's future.
 */
final class CallQueue implements AutoCloseable {
    /** What the backend gets beyond the timeout, to report it itself. */
    private static final Duration GRACE = Duration.ofSeconds(1);

    private record Pending(Runnable call, CompletableFuture<Void> future) {}

    private final String name;
    private final Duration timeout;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Pending> waiting = new ArrayDeque<>();
    private boolean running;
    /** Value of {@link System#nanoTime()} at which a running call breaks the queue. */
    private long lastMoment;
    private boolean closed;
    private @Nullable String broken;
    private volatile @Nullable Thread dispatcher;

    /**
     * @param name what the daemon thread is called
     * @param timeout how long a call may run
     */
    CallQueue(String name, Duration timeout) {
        this.name = name;
        this.timeout = timeout;
    }

    /** Runs a call and returns when it has ended; what it throws is thrown. */
    void run(Runnable call) {
        Pending pending = null;
        lock.lock();
        try {
            checkOpen();
            if (running || !waiting.isEmpty()) {
                pending = enqueue(call);
            } else {
                start();
            }
        } finally {
            lock.unlock();
        }
        if (pending == null) {
            try {
                call.run();
            } finally {
                end();
            }
        } else {
            await(pending);
        }
    }

    /**
     * Runs a call later.
     *
     * @return completed when it has ended; what depends on it runs on the queue's thread and should be short
     */
    CompletableFuture<Void> submit(Runnable call) {
        lock.lock();
        try {
            checkOpen();
            return enqueue(call).future();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for all calls that were submitted, and takes no more.
     *
     * @throws CollectiveTimeoutException if the queue is broken
     */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (Thread.currentThread().equals(dispatcher)) {
            drain(null);
        }
        boolean interrupted = false;
        lock.lock();
        try {
            while (broken == null && (running || !waiting.isEmpty())) {
                interrupted |= awaitChange();
            }
            if (broken != null) {
                throw new CollectiveTimeoutException(broken + ", so the communicator's memory can't be freed");
            }
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void checkOpen() {
        if (broken != null) {
            throw new IllegalStateException("the communicator is broken: " + broken + "; create a new one");
        }
        if (closed) {
            throw new IllegalStateException("the communicator is closed; create a new one");
        }
    }

    private Pending enqueue(Runnable call) {
        Pending pending = new Pending(call, new CompletableFuture<>());
        waiting.add(pending);
        if (dispatcher == null) {
            Thread thread = new Thread(() -> drain(null), name);
            thread.setDaemon(true);
            dispatcher = thread;
            thread.start();
        }
        changed.signalAll();
        return pending;
    }

    private void await(Pending pending) {
        if (Thread.currentThread().equals(dispatcher)) {
            drain(pending);
        }
        try {
            pending.future().join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }

    /** Runs what waits, until one call has ended or, for null, until the queue is closed. */
    private void drain(@Nullable Pending until) {
        while (until == null || !until.future().isDone()) {
            Pending next = take();
            if (next == null) {
                return;
            }
            carryOut(next);
        }
    }

    /** Waits for the next call and starts it; null if there will be none. */
    private @Nullable Pending take() {
        boolean interrupted = false;
        lock.lock();
        try {
            while (running || waiting.isEmpty()) {
                if (broken != null || (closed && waiting.isEmpty())) {
                    return null;
                }
                interrupted |= awaitChange();
            }
            start();
            return waiting.remove();
        } finally {
            lock.unlock();
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private void carryOut(Pending pending) {
        Future<?> watchdog = ForkJoinPool.commonPool()
                .schedule(() -> breakDown(pending), timeout.plus(GRACE).toNanos(), TimeUnit.NANOSECONDS);
        Throwable thrown = null;
        try {
            pending.call().run();
        } catch (Throwable e) {
            thrown = e;
        }
        watchdog.cancel(false);
        end();
        if (thrown == null) {
            pending.future().complete(null);
        } else {
            pending.future().completeExceptionally(thrown);
        }
    }

    private void start() {
        running = true;
        lastMoment = System.nanoTime() + timeout.plus(GRACE).toNanos();
    }

    private void end() {
        lock.lock();
        try {
            running = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for a signal, or until the running call breaks the queue.
     *
     * @return whether the thread was interrupted, which ends no wait
     */
    @SuppressWarnings("WaitNotInLoop") // the callers loop
    private boolean awaitChange() {
        if (!running) {
            changed.awaitUninterruptibly();
            return false;
        }
        long left = lastMoment - System.nanoTime();
        if (left <= 0) {
            breakDown(null);
            return false;
        }
        try {
            changed.awaitNanos(left);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }

    /** Fails the stuck call, if it has a future, and all that wait. */
    private void breakDown(@Nullable Pending stuck) {
        List<Pending> failed = new ArrayList<>();
        lock.lock();
        try {
            broken = "a call did not end within " + timeout.toMillis() + " ms";
            if (stuck != null) {
                failed.add(stuck);
            }
            failed.addAll(waiting);
            waiting.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        String message =
                broken + ", so this communicator is broken; create a new one, or allow more time by BANYAN_TIMEOUT_MS";
        // On another thread: this one may hold the lock, and what depends on the futures may not run under it.
        ForkJoinPool.commonPool().execute(() -> failed.forEach(
                pending -> pending.future().completeExceptionally(new CollectiveTimeoutException(message))));
    }
}
