package dev.banyan.djl;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Waiting for what was begun. */
final class Futures {
    private Futures() {}

    /** Waits, and throws what it failed with. */
    static void join(CompletableFuture<Void> future) {
        try {
            future.join();
        } catch (CompletionException e) {
            switch (e.getCause()) {
                case RuntimeException cause -> throw cause;
                case Error cause -> throw cause;
                case null, default -> throw e;
            }
        }
    }
}
