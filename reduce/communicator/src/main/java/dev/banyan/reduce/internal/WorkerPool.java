package dev.banyan.reduce.internal;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.concurrent.atomic.AtomicLongArray;
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
    /** A caller that waited long for a worker goes on alone for so many times as long: that bounds what waits cost. */
    private static final int PAUSE_PER_WAIT = 16;

    private static final long LONGEST_PAUSE_NANOS = 1_000_000_000;
    private static final long UNHELPED_PAUSE_NANOS = 1_000_000;

    /** Bits of {@link #state} that count the workers in the task. */
    private static final long WORKING = (1L << 15) - 1;
    /** Bit of {@link #state} that is set while more workers may join. */
    private static final long OPEN = 1L << 15;
    /** Unit of {@link #state} for each worker that has joined. */
    private static final long JOINED = 1L << 16;
    /** Number of bits of {@link #state} below the number of the round. */
    private static final int ROUND_SHIFT = 31;
    /** Bits of {@link #state} that count the workers that have joined. */
    private static final long ALL_JOINED = (1L << ROUND_SHIFT) - JOINED;
    /** Two cache lines, as processors fetch neighbours. */
    private static final int LONGS_PER_LINES = 16;
    /** Index of the state. */
    private static final int STATE = LONGS_PER_LINES;

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
            long current = round();
            long begin = System.nanoTime();
            for (int polls = 1; current == served && !closed; polls++) {
                Thread.onSpinWait();
                if (polls % POLLS_PER_LOOK == 0 && System.nanoTime() - begin > pollNanos) {
                    parked = true;
                    if (round() == served && !closed) {
                        LockSupport.park(WorkerPool.this);
                    }
                    parked = false;
                    begin = System.nanoTime();
                }
                current = round();
            }
            return current;
        }

        private void takePart() {
            if (!enter()) {
                return;
            }
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

    private final String name;
    private final long pollNanos;
    private final Runnable first;
    private final Worker[] workers;
    private final ReentrantLock busy = new ReentrantLock();

    /**
     * The word that the caller and the workers write in each round: the number of the round, the workers that have
     * joined, whether more may join, and those that work. It is one number with cache lines of its own: a line that
     * goes from one core to another costs both about 100 ns. A worker that joins sees what was written before the task
     * opened.
     */
    private final AtomicLongArray state = new AtomicLongArray(2 * LONGS_PER_LINES);

    private final Help help = new Help();

    /** The number of workers that were started; only the thread that holds {@link #busy} accesses it. */
    private int started;

    private @Nullable Task task;
    private int invited;
    private volatile @Nullable Throwable failure;
    private volatile @Nullable Thread waiting;
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
        if (closed) {
            // A worker may be stuck in a task, which the counts must keep.
            busy.unlock();
            work.work(0);
            return;
        }
        boolean brief = bytes < WORTH_WAKING_BYTES;
        try {
            long begin = System.nanoTime();
            if (brief && help.isPaused(begin)) {
                work.work(0);
                return;
            }
            open(work, Math.min(helpers, workers.length));
            try {
                if (!brief || help.isRecent(begin)) {
                    wakeInvited();
                }
                work.work(0);
            } finally {
                long worked = System.nanoTime() - begin;
                long waited = awaitWorkers(deadline);
                help.judge(brief, worked, waited);
            }
            Throwable thrown = failure;
            if (thrown != null) {
                throw new IllegalStateException("a worker of " + name + " failed: " + thrown, thrown);
            }
        } finally {
            busy.unlock();
        }
    }

    /** Lets workers join. What is as it was is not written: workers have it in their caches. */
    private void open(Task work, int most) {
        if (invited != most) {
            invited = most;
        }
        if (!work.equals(task)) {
            task = work;
        }
        if (failure != null) {
            failure = null;
        }
        state.set(STATE, ((round() + 1) << ROUND_SHIFT) + OPEN);
    }

    private long round() {
        return state.get(STATE) >>> ROUND_SHIFT;
    }

    private void wakeInvited() {
        for (int w = 0; w < invited; w++) {
            if (w == started) {
                try {
                    workers[w].thread.start();
                } catch (OutOfMemoryError e) {
                    // The system has no further thread now; the task goes on with fewer workers.
                    return;
                }
                started++;
            } else if (workers[w].parked) {
                // Waking takes long for the caller, so only one call does it.
                workers[w].parked = false;
                LockSupport.unpark(workers[w].thread);
            }
        }
    }

    /**
     * Decides after a short task whether the next ones go without help for a while. On a busy machine a worker has no
     * processor when it is woken, or loses it in the middle of a block, and the caller waits for that. Only the thread
     * that holds {@link #busy} accesses it.
     */
    private final class Help {
        private long aloneUntil = System.nanoTime() - pollNanos;
        private long lastEnd = aloneUntil;
        private int unhelped;

        boolean isPaused(long now) {
            return now - aloneUntil < 0;
        }

        /** Returns whether a task follows the last one so closely that waking workers may pay. */
        boolean isRecent(long now) {
            return now - lastEnd < pollNanos;
        }

        /**
         * Notes that a task has ended.
         *
         * @param worked how long the caller worked, in ns
         * @param waited how long the caller then waited for workers, in ns
         */
        void judge(boolean brief, long worked, long waited) {
            lastEnd = System.nanoTime();
            if (!brief) {
                return;
            }
            unhelped = (state.get(STATE) & ALL_JOINED) == 0 ? unhelped + 1 : 0;
            if (unhelped > UNHELPED_TASKS) {
                aloneUntil = lastEnd + UNHELPED_PAUSE_NANOS;
                unhelped = 0;
            } else if (waited > worked) {
                // Alone the caller would have been faster.
                aloneUntil = lastEnd + Math.min(PAUSE_PER_WAIT * waited, LONGEST_PAUSE_NANOS);
            }
        }
    }

    /** Waits until no worker is in the task, and returns for how long, in ns. */
    private long awaitWorkers(long deadline) {
        long left = state.addAndGet(STATE, -OPEN) & WORKING;
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
                    if ((state.get(STATE) & WORKING) != 0) {
                        LockSupport.parkNanos(this, deadline - now);
                        interrupted |= Thread.interrupted();
                    }
                }
            }
            left = state.get(STATE) & WORKING;
        }
        if (waiting != null) {
            waiting = null;
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (left != 0) {
            close();
            throw new CollectiveTimeoutException(left + " of the worker threads of " + name
                    + " did not end in time; close the communicator and make a new one, or allow more time by"
                    + " BANYAN_TIMEOUT_MS");
        }
        return begin == 0 ? 0 : System.nanoTime() - begin;
    }

    private boolean enter() {
        for (long seen = state.get(STATE); (seen & OPEN) != 0; seen = state.get(STATE)) {
            if (state.compareAndSet(STATE, seen, seen + JOINED + 1)) {
                return true;
            }
        }
        return false;
    }

    private void leave() {
        if ((state.decrementAndGet(STATE) & WORKING) == 0) {
            Thread caller = waiting;
            if (caller != null) {
                LockSupport.unpark(caller);
            }
        }
    }

    /** Returns whether a worker is in a task that {@link #run} gave up. */
    public boolean isWorking() {
        return !busy.isLocked() && (state.get(STATE) & WORKING) != 0;
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
