package dev.banyan.reduce.host;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Threads that help the caller with a task. They are daemons, start when they are first needed, and are
 * parked while there is nothing to do. The pool helps with one task at a time; a caller that finds it
 * busy does its task alone, so callers never wait for each other.
 *
 * <p>Safe for use from any thread.
 */
final class WorkerPool implements AutoCloseable {
    /** Work that several threads do together. */
    interface Task {
        /**
         * Takes part until no work is left.
         *
         * @param participant 0 for the caller, 1, 2, ... for the workers
         */
        void work(int participant);
    }

    /** The number of times a waiting thread polls before it parks: some microseconds. */
    private static final int SPINS = 200;

    private static final long OPEN = 1L << 32;

    private final String name;
    private final Thread[] workers;
    private final ReentrantLock busy = new ReentrantLock();

    /**
     * The number of workers that are in the task, plus {@link #OPEN} while more may join. Every worker that joins sees
     * what was written before the task opened.
     */
    private final AtomicLong entered = new AtomicLong();

    /** The number of workers that were started; only the thread that holds {@link #busy} accesses it. */
    private int started;

    private @Nullable Task task;
    private int invited;
    private volatile @Nullable Throwable failure;
    private volatile @Nullable Thread waiting;
    private final AtomicLong rounds = new AtomicLong();
    private volatile boolean closed;

    /**
     * @param name the prefix of its threads' names
     * @param helpers number of workers, at least 0
     */
    WorkerPool(String name, int helpers) {
        this.name = name;
        workers = new Thread[helpers];
        for (int w = 0; w < helpers; w++) {
            int participant = w + 1;
            workers[w] = new Thread(() -> serve(participant), name + "-" + participant);
            workers[w].setDaemon(true);
        }
    }

    /** Returns the number of workers. */
    int helpers() {
        return workers.length;
    }

    /**
     * Does a task on the calling thread and the workers. Returns when all that took part have ended; a
     * worker that comes late is not waited for.
     *
     * @param helpers greatest number of workers that take part
     * @param deadline value of {@link System#nanoTime()} after which it gives up
     * @throws CollectiveTimeoutException if a worker did not end in time; the pool is then closed
     */
    void run(Task work, int helpers, long deadline) {
        if (workers.length == 0 || closed || !busy.tryLock()) {
            work.work(0);
            return;
        }
        try {
            invited = Math.min(helpers, workers.length);
            for (; started < invited; started++) {
                workers[started].start();
            }
            task = work;
            failure = null;
            entered.set(OPEN);
            rounds.incrementAndGet();
            for (int w = 0; w < invited; w++) {
                LockSupport.unpark(workers[w]);
            }
            try {
                work.work(0);
            } finally {
                awaitWorkers(deadline);
            }
            Throwable thrown = failure;
            if (thrown != null) {
                throw new IllegalStateException("a worker of " + name + " failed: " + thrown, thrown);
            }
        } finally {
            busy.unlock();
        }
    }

    private void awaitWorkers(long deadline) {
        waiting = Thread.currentThread();
        long left = entered.addAndGet(-OPEN);
        boolean interrupted = false;
        int spins = 0;
        while (left != 0 && (spins < SPINS || deadline - System.nanoTime() > 0)) {
            if (spins++ < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(this, deadline - System.nanoTime());
                interrupted |= Thread.interrupted();
            }
            left = entered.get();
        }
        waiting = null;
        task = null;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (left != 0) {
            close();
            throw new CollectiveTimeoutException(left + " of the worker threads of " + name
                    + " did not end in time; close the communicator and make a new one");
        }
    }

    private void serve(int participant) {
        long served = 0;
        while (!closed) {
            long current = rounds.get();
            if (current == served) {
                LockSupport.park(this);
                continue;
            }
            served = current;
            if (enter()) {
                try {
                    Task work = task;
                    if (work != null && participant <= invited) {
                        work.work(participant);
                    }
                } catch (Throwable e) {
                    failure = e;
                } finally {
                    leave();
                }
            }
        }
    }

    private boolean enter() {
        for (long seen = entered.get(); seen >= OPEN; seen = entered.get()) {
            if (entered.compareAndSet(seen, seen + 1)) {
                return true;
            }
        }
        return false;
    }

    private void leave() {
        if (entered.decrementAndGet() == 0) {
            LockSupport.unpark(waiting);
        }
    }

    /** Returns whether a worker is in a task that {@link #run} gave up. */
    boolean isWorking() {
        return !busy.isLocked() && entered.get() != 0;
    }

    /** Ends the workers; one that is in a task ends after it. */
    @Override
    public void close() {
        closed = true;
        for (Thread worker : workers) {
            LockSupport.unpark(worker);
        }
    }
}
