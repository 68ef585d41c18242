package dev.banyan.kvstore.engine;

import java.util.Comparator;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The daemon threads of one lane. The ready operation with the greatest priority runs first; among equal priorities,
 * the one that was ready first. Threads start when they are first needed and end after some idle time.
 */
final class WorkerThreads extends ThreadPoolExecutor {
    private static final long IDLE_SECONDS = 10;
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
                IDLE_SECONDS,
                TimeUnit.SECONDS,
                new PriorityBlockingQueue<>(
                        INITIAL_CAPACITY, Comparator.<Runnable, Operation>comparing(Operation.class::cast, ORDER)));
        AtomicInteger started = new AtomicInteger();
        setThreadFactory(work -> new Worker(work, name + "-" + started.incrementAndGet()));
        allowCoreThreadTimeOut(true);
    }

    /** Returns whether the calling thread is one of an engine. */
    static boolean isCurrent() {
        return Thread.currentThread() instanceof Worker;
    }
}
