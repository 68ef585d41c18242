package dev.banyan.reduce.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Futures that are handed to users. A user's future is a copy: cancelling or completing it changes nothing but the
 * copy. It completes on a thread that runs nothing else of the library, so that a dependent that blocks keeps no other
 * call, deadline or close from ending. The threads are daemons and end after 10 idle seconds; while {@value
 * #MOST_PLATFORM_THREADS} are blocked, further futures complete on virtual threads. If the system has no further
 * thread, futures complete one after another on a thread that started with the first future.
 *
 * <p>Safe for use from any thread.
 */
public final class Completions {
    private static final long IDLE_SECONDS = 10;
    /** Platform threads share processors fairly with dependents that compute; thousands of them would cost memory. */
    private static final int MOST_PLATFORM_THREADS = 64;

    private static final ExecutorService THREADS = new ThreadPoolExecutor(
            0,
            MOST_PLATFORM_THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            task -> Thread.ofPlatform().daemon().name("banyan-completions").unstarted(task),
            (task, _) -> Thread.startVirtualThread(task));

    private static final ThreadPoolExecutor RESERVE = new ThreadPoolExecutor(
            1,
            1,
            0,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            task -> Thread.ofPlatform()
                    .daemon()
                    .name("banyan-completions-reserve")
                    .unstarted(task));

    private Completions() {}

    /**
     * Returns a copy of a promise for a user.
     *
     * @throws OutOfMemoryError if the system has no thread on which the copy could complete
     */
    public static <T extends @Nullable Object> CompletableFuture<T> copyOf(CompletableFuture<T> promise) {
        RESERVE.prestartCoreThread();
        CompletableFuture<T> copy = new CompletableFuture<>();
        var _ = promise.whenComplete((value, failure) -> execute(() -> {
            if (failure == null) {
                copy.complete(value);
            } else {
                copy.completeExceptionally(cause(failure));
            }
        }));
        return copy;
    }

    private static void execute(Runnable task) {
        try {
            THREADS.execute(task);
        } catch (OutOfMemoryError | LinkageError | RejectedExecutionException e) {
            // The system has no further thread. Virtual ones stay unusable if their first use finds none for them.
            RESERVE.execute(task);
        }
    }

    /** Waits for a call, returns its result, and throws what it failed with, as it was thrown there. */
    public static <T extends @Nullable Object> T join(CompletableFuture<T> call) {
        try {
            return call.join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }

    /** Returns what a future failed with, without the exception in which stages of futures wrap it. */
    public static Throwable cause(Throwable failure) {
        Throwable cause = failure.getCause();
        return failure instanceof CompletionException && cause != null ? cause : failure;
    }
}
