package dev.banyan.reduce.internal;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Threads that help the caller with a task. They are daemons and start when they are first needed. After a task they
 * poll for the next one for a short time, and are parked then. The pool helps with one task at a time; a caller that
 * finds it busy does its task alone, so callers never wait for each other. A task allocates nothing.
 *
 * <p>A worker that polls joins any task. Parked ones are woken only for a long task, or if tasks follow each other so
 * closely that they will find the workers awake from then on: waking takes longer than a short task.
 *
 * <p>Safe for use from any thread.
 */
public final class WorkerPool implements AutoCloseable {
    /** Work that several threads do together. */
    public interface Task {
        /**
         * Takes part until no work is left.
         *
         * @param participant 0 for the caller, 1, 2, ... for the workers
         */
        void work(int participant);
    }

    /** The number of polls between two looks at the clock. */
    private static final int POLLS_PER_LOOK = 32;
    /** A task of more bytes is worth waking a thread: some 50 us for one thread. */
    private static final long WORTH_WAKING_BYTES = 4 << 20;

    /** So many short tasks in a row that no worker joins are a sign that workers have no processor. */
    private static final int UNHELPED_TASKS = 32;
    /** The numbers of short tasks that go without help after a task that was helped badly. */
    private static final int SHORTEST_PAUSE = 64;

    private static final int LONGEST_PAUSE = 4096;

    private static final long OPEN = 1L << 32;

    /** One thread. */
    private final class Worker implements Runnable {
        final int participant;
        final Thread thread;
        volatile boolean parked;

        Worker(int participant) {
            this.participant = participant;
            thread = new Thread(this, name + "-" + participant);
            thread.setDaemon(true);
        }

        @Override
        public void run() {
            first.run();
            long served = 0;
            while (!closed) {
                long current = awaitRound(served);
                if (current != served) {
                    served = current;
                    takePart();
                }
            }
        }

        /** Returns the number of the current round, which may be the one that was served. */
        private long awaitRound(long served) {
            long current = rounds.get();
            long begin = System.nanoTime();
            for (int polls = 1; current == served && !closed; polls++) {
                Thread.onSpinWait();
                if (polls % POLLS_PER_LOOK == 0 && System.nanoTime() - begin > pollNanos) {
                    parked = true;
                    if (rounds.get() == served && !closed) {
                        LockSupport.park(WorkerPool.this);
                    }
                    parked = false;
                    begin = System.nanoTime();
                }
                current = rounds.get();
            }
            return current;
        }

        private void takePart() {
            if (!enter()) {
                return;
            }
            try {
                helpedRound = rounds.get();
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

    private final String name;
    private final long pollNanos;
    private final Runnable first;
    private final Worker[] workers;
    private final ReentrantLock busy = new ReentrantLock();

    /**
     * The number of workers that are in the task, plus {@link #OPEN} while more may join. Every worker that joins sees
     * what was written before the task opened.
     */
    private final AtomicLong entered = new AtomicLong();

    /** The number of workers that were started; only the thread that holds {@link #busy} accesses it. */
    private int started;
    /** When the last task ended; only the thread that holds {@link #busy} accesses it. */
    private long lastEnd;

    /** The number of short tasks that go without help from now on; only the holder of {@link #busy} accesses it. */
    private int alone;
    /** The value of {@link #alone} after the next task that was helped badly; held as that. */
    private int pause = SHORTEST_PAUSE;
    /** The number of the last short tasks that no worker joined; held as that. */
    private int unhelped;
    /** How long the caller waited at the end of the last task; held as that. */
    private long waitedNanos;
    /** The last round that a worker joined. */
    private volatile long helpedRound;

    private @Nullable Task task;
    private int invited;
    private volatile @Nullable Throwable failure;
    private volatile @Nullable Thread waiting;
    private final AtomicLong rounds = new AtomicLong();
    private volatile boolean closed;

    /**
     * @param name the prefix of its threads' names
     * @param helpers number of workers, at least 0
     * @param pollNanos how long a worker polls before it parks, in ns; at least about what waking it takes
     * @param first what each worker runs first
     */
    public WorkerPool(String name, int helpers, long pollNanos, Runnable first) {
        this.name = name;
        this.pollNanos = pollNanos;
        this.first = first;
        lastEnd = System.nanoTime() - pollNanos;
        workers = new Worker[helpers];
        for (int w = 0; w < helpers; w++) {
            workers[w] = new Worker(w + 1);
        }
    }

    /** Returns the number of workers. */
    public int helpers() {
        return workers.length;
    }

    /**
     * Does a task on the calling thread and the workers. Returns when all that took part have ended; a
     * worker that comes late is not waited for.
     *
     * @param helpers greatest number of workers that take part
     * @param bytes number of bytes that the task reads and writes
     * @param deadline value of {@link System#nanoTime()} after which it gives up
     * @throws CollectiveTimeoutException if a worker did not end in time; the pool is then closed
     */
    public void run(Task work, int helpers, long bytes, long deadline) {
        if (workers.length == 0 || closed || !busy.tryLock()) {
            work.work(0);
            return;
        }
        boolean brief = bytes < WORTH_WAKING_BYTES;
        try {
            if (brief && alone > 0) {
                alone--;
                work.work(0);
                return;
            }
            invited = Math.min(helpers, workers.length);
            task = work;
            failure = null;
            entered.set(OPEN);
            rounds.incrementAndGet();
            try {
                if (!brief || System.nanoTime() - lastEnd < pollNanos) {
                    wakeInvited();
                }
                work.work(0);
            } finally {
                awaitWorkers(deadline);
                lastEnd = System.nanoTime();
            }
            if (brief) {
                judgeHelp();
            }
            Throwable thrown = failure;
            if (thrown != null) {
                throw new IllegalStateException("a worker of " + name + " failed: " + thrown, thrown);
            }
        } finally {
            busy.unlock();
        }
    }

    private void wakeInvited() {
        for (int w = 0; w < invited; w++) {
            if (w == started) {
                workers[w].thread.start();
                started++;
            } else if (workers[w].parked) {
                // Waking takes long for the caller, so only one call does it.
                workers[w].parked = false;
                LockSupport.unpark(workers[w].thread);
            }
        }
    }

    /**
     * Decides after a short task whether the next ones go without help. On a busy machine a worker has no processor
     * when it is woken, or loses it in the middle of a block, and the caller waits for that.
     */
    private void judgeHelp() {
        boolean helped = helpedRound == rounds.get();
        unhelped = helped ? 0 : unhelped + 1;
        if (waitedNanos > pollNanos / 2 || unhelped > UNHELPED_TASKS) {
            alone = pause;
            pause = Math.min(2 * pause, LONGEST_PAUSE);
            unhelped = 0;
        } else if (helped) {
            pause = Math.max(SHORTEST_PAUSE, pause - 1);
        }
    }

    private void awaitWorkers(long deadline) {
        long left = entered.addAndGet(-OPEN);
        boolean interrupted = false;
        long begin = left == 0 ? 0 : System.nanoTime();
        for (int polls = 1; left != 0; polls++) {
            Thread.onSpinWait();
            if (polls % POLLS_PER_LOOK == 0) {
                long now = System.nanoTime();
                if (deadline - now <= 0 && now - begin > pollNanos) {
                    break;
                }
                if (now - begin > pollNanos) {
                    waiting = Thread.currentThread();
                    if (entered.get() != 0) {
                        LockSupport.parkNanos(this, deadline - now);
                        interrupted |= Thread.interrupted();
                    }
                }
            }
            left = entered.get();
        }
        waiting = null;
        task = null;
        waitedNanos = begin == 0 ? 0 : System.nanoTime() - begin;
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (left != 0) {
            close();
            throw new CollectiveTimeoutException(left + " of the worker threads of " + name
                    + " did not end in time; close the communicator and make a new one");
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
            Thread caller = waiting;
            if (caller != null) {
                LockSupport.unpark(caller);
            }
        }
    }

    /** Returns whether a worker is in a task that {@link #run} gave up. */
    public boolean isWorking() {
        return !busy.isLocked() && entered.get() != 0;
    }

    /** Ends the workers; one that is in a task ends after it. */
    @Override
    public void close() {
        closed = true;
        for (Worker worker : workers) {
            LockSupport.unpark(worker.thread);
        }
    }
}
