package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.DriverThreads;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Frees memory of devices on threads of their own: the driver also waits for work of others in this process, of which
 * nobody knows whether it ends.
 *
 * <p>Safe for use from any thread.
 */
final class Freeing {
    private static final Set<CompletableFuture<Void>> RUNNING = ConcurrentHashMap.newKeySet();

    private Freeing() {}

    /** Begins to free, and returns the end of that. */
    @SuppressWarnings("UndefinedEquals") // A future is found by its identity.
    static CompletableFuture<Void> begin(Runnable free) {
        CompletableFuture<Void> freed = CompletableFuture.runAsync(free, DriverThreads.NEW);
        RUNNING.add(freed);
        var _ = freed.whenComplete((_, _) -> RUNNING.remove(freed));
        return freed;
    }

    /** Waits until nothing is being freed, for tests that play a new process. */
    static void join() {
        for (CompletableFuture<Void> freed : RUNNING) {
            // The end of the process that was played makes calls of the driver fail.
            var _ = freed.exceptionally(_ -> null).join();
        }
    }
}
