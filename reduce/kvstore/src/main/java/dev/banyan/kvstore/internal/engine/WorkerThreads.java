package dev.banyan.kvstore.internal.engine;

import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The daemon threads of one lane. The ready operation with the greatest priority runs first; among equal priorities,
 * the one that was ready first. Threads start when they are first needed and end with the engine: one that ended
 * while an operation comes would have to be replaced, which the system may refuse.
 */
final class WorkerThreads extends ThreadPoolExecutor {
    private static final int INITIAL_CAPACITY = 64;
    private static final Comparator<Operation> ORDER = Comparator.comparingInt(
                    (Operation operation) -> operation.priority)
            .reversed()
            .thenComparingLong(operation -> operation.readyOrder);

    /** A thread of an engine. Its tasks must not wait for the engine. */
    private static final class Worker extends Thread {
        Worker(Runnable work, String name) {
            super(work, name);
            setDaemon(true);
        }
    }

    /**
     * @param name the prefix of the threads' names
     * @param threads the greatest number of threads, at least 1
     */
    WorkerThreads(String name, int threads) {
        super(
                threads,
                threads,
                0,
                TimeUnit.SECONDS,
                new PriorityBlockingQueue<>(
                        INITIAL_CAPACITY, Comparator.<Runnable, Operation>comparing(Operation.class::cast, ORDER)));
        AtomicInteger started = new AtomicInteger();
        setThreadFactory(work -> new Worker(work, name + "-" + started.incrementAndGet()));
    }

    /**
     * Runs an operation on a thread of the lane, a new one if the lane may have more. One thread at a time calls it.
     *
     * @throws OutOfMemoryError if the system has no thread for the lane's first one; the operation will not run
     */
    void take(Operation operation) {
        try {
            execute(operation);
        } catch (OutOfMemoryError e) {
            // The executor has kept nothing.
            if (getPoolSize() == 0) {
                throw e;
            }
            boolean _ = getQueue().add(operation);
        }
    }

    /** Returns whether the calling thread is one of an engine. */
    static boolean isCurrent() {
        return Thread.currentThread() instanceof Worker;
    }
}
