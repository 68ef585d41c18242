package dev.banyan.reduce;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ForkJoinPool;
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
 * that wait fail, and no other is taken. One timer, armed while there is something to watch, sees to it.
 *
 * <p>What depends on a future runs on the daemon thread too, one after another: a blocking call from there
 * carries out the calls before it at once, but what depends on those runs later, so that any number of
 * them needs no more than one stack frame each.
 *
 * <p>Safe for use from any thread, also from what depends on a call's future.
 */
public final class CallQueue implements AutoCloseable {

    /** A call with a future. */
    private static final class Pending {
        final Runnable call;
        final CompletableFuture<Void> future = new CompletableFuture<>();
        private @Nullable Throwable thrown;

        Pending(Runnable call) {
            this.call = call;
        }

        void run() {
            try {
                call.run();
            } catch (Throwable e) {
                thrown = e;
            }
        }

        void complete() {
            if (thrown == null) {
                future.complete(null);
            } else {
                future.completeExceptionally(thrown);
            }
        }
    }

    private final String name;
    private final Duration timeout;
    private final long patienceNanos;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Pending> waiting = new ArrayDeque<>();
    private boolean running;
    /** The running call if it has a future. */
    private @Nullable Pending current;
    /** Value of {@link System#nanoTime()} at which a running call breaks the queue. */
    private long lastMoment;

    private boolean watched;
    private boolean closed;
    private @Nullable String broken;
    private volatile @Nullable Thread dispatcher;
    /** Calls that have ended and whose futures are still to be completed; only the dispatcher touches it. */
    private final ArrayDeque<Pending> ended = new ArrayDeque<>();

    /**
     * @param name what the daemon thread is called
     * @param timeout how long a call may run
     * @param grace what a call gets beyond it, to report that itself
     */
    public CallQueue(String name, Duration timeout, Duration grace) {
        this.name = name;
        this.timeout = timeout;
        patienceNanos = Math.min(TimeUnit.NANOSECONDS.convert(timeout), Long.MAX_VALUE / 2)
                + TimeUnit.NANOSECONDS.convert(grace);
    }

    /** Runs a call and returns when it has ended; what it throws is thrown. */
    public void run(Runnable call) {
        Pending pending = null;
        lock.lock();
        try {
            checkOpen();
            if (running || !waiting.isEmpty()) {
                pending = enqueue(call);
            } else {
                start(null);
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
    public CompletableFuture<Void> submit(Runnable call) {
        lock.lock();
        try {
            checkOpen();
            return enqueue(call).future;
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
        lock.lock();
        try {
            while (broken == null && (running || !waiting.isEmpty())) {
                watch();
                changed.awaitUninterruptibly();
            }
            if (broken != null) {
                throw new CollectiveTimeoutException(broken + ", so the communicator's memory can't be freed");
            }
        } finally {
            lock.unlock();
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
        if (dispatcher == null) {
            Thread thread = new Thread(this::dispatch, name);
            thread.setDaemon(true);
            thread.start();
            dispatcher = thread;
        }
        watch();
        Pending pending = new Pending(call);
        waiting.add(pending);
        changed.signalAll();
        return pending;
    }

    private void await(Pending pending) {
        if (Thread.currentThread().equals(dispatcher)) {
            drain(pending);
        }
        join(pending.future);
    }

    /** Waits for a call, as it was submitted, and throws what it failed with. */
    public static void join(CompletableFuture<Void> call) {
        try {
            call.join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }

    /** What the daemon thread does until the queue is closed or broken. */
    private void dispatch() {
        try {
            while (true) {
                Pending next = ended.poll();
                if (next == null) {
                    next = take();
                    if (next == null) {
                        return;
                    }
                    carryOut(next);
                }
                next.complete();
            }
        } catch (Throwable e) {
            List<Pending> failed;
            lock.lock();
            try {
                failed = breakDown("its thread failed: " + e);
            } finally {
                lock.unlock();
            }
            failed.forEach(pending -> pending.future.completeExceptionally(e));
            throw e;
        }
    }

    /**
     * On the daemon thread, below a future's completion: runs what waits, until one call has ended or, for
     * null, until the queue is closed.
     */
    private void drain(@Nullable Pending until) {
        while (until == null || !until.future.isDone()) {
            Pending next = take();
            if (next == null) {
                return;
            }
            carryOut(next);
            if (next.equals(until)) {
                next.complete();
            } else {
                ended.add(next);
            }
        }
    }

    /** Waits for the next call and starts it; null if there will be none. */
    private @Nullable Pending take() {
        lock.lock();
        try {
            while (running || waiting.isEmpty()) {
                if (broken != null || (closed && waiting.isEmpty())) {
                    return null;
                }
                changed.awaitUninterruptibly();
            }
            Pending next = waiting.remove();
            start(next);
            return next;
        } finally {
            lock.unlock();
        }
    }

    private void carryOut(Pending pending) {
        try {
            pending.run();
        } finally {
            end();
        }
    }

    private void start(@Nullable Pending pending) {
        running = true;
        current = pending;
        lastMoment = System.nanoTime() + patienceNanos;
    }

    private void end() {
        lock.lock();
        try {
            running = false;
            current = null;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Sees to it that a call which runs too long is noticed. */
    private void watch() {
        if (!watched) {
            long left = running ? lastMoment - System.nanoTime() : patienceNanos;
            var _ = ForkJoinPool.commonPool().schedule(this::look, left, TimeUnit.NANOSECONDS);
            watched = true;
        }
    }

    private void look() {
        List<Pending> failed = List.of();
        lock.lock();
        try {
            watched = false;
            if (running && lastMoment - System.nanoTime() <= 0) {
                failed = breakDown("a call did not end within " + timeout.toMillis() + " ms");
            } else if (running || !waiting.isEmpty()) {
                watch();
            }
        } finally {
            lock.unlock();
        }
        if (!failed.isEmpty()) {
            var e = new CollectiveTimeoutException(broken
                    + ", so this communicator is broken; create a new one, or allow more time by BANYAN_TIMEOUT_MS");
            failed.forEach(pending -> pending.future.completeExceptionally(e));
        }
    }

    /** Breaks the queue. Returns the calls that fail: the running one, if it has a future, and all that wait. */
    private List<Pending> breakDown(String reason) {
        List<Pending> failed = new ArrayList<>();
        broken = reason;
        if (current != null) {
            failed.add(current);
        }
        failed.addAll(waiting);
        waiting.clear();
        changed.signalAll();
        return failed;
    }
}
