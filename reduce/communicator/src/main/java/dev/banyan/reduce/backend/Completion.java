package dev.banyan.reduce.backend;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Is notified of the end of a run. */
@FunctionalInterface
public interface Completion {
    /**
     * Called once, on a thread of the backend, one that polls, or the one that starts. It must be short, and must not
     * block or throw.
     *
     * @param failure what went wrong, or null if every output is complete
     */
    void ended(@Nullable Throwable failure);

    /**
     * Returns a completion that completes a future.
     *
     * @param future fails with the failure if there is one
     */
    static Completion of(CompletableFuture<Void> future) {
        return failure -> {
            if (failure == null) {
                future.complete(null);
            } else {
                future.completeExceptionally(failure);
            }
        };
    }
}
