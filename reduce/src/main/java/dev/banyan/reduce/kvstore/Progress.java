package dev.banyan.reduce.kvstore;

import dev.banyan.reduce.kvstore.StoreListener.Stage;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** An operation under way: who wants to know of it. */
final class Progress {
    private final StoreOperation operation;
    private final @Nullable StoreListener listener;
    private final CompletableFuture<Void> future = new CompletableFuture<>();

    Progress(StoreOperation operation, @Nullable StoreListener listener) {
        this.operation = operation;
        this.listener = listener;
        if (listener != null) {
            listener.submitted(operation, System.nanoTime());
        }
    }

    StoreOperation operation() {
        return operation;
    }

    /** Completes when the operation has ended. */
    CompletableFuture<Void> future() {
        return future;
    }

    void begin(Stage stage) {
        if (listener != null) {
            listener.began(operation, stage, System.nanoTime());
        }
    }

    void end(Stage stage) {
        if (listener != null) {
            listener.ended(operation, stage, System.nanoTime());
        }
    }

    void complete() {
        future.complete(null);
    }

    /** What a failure is told as. */
    KVStoreException failure(Throwable cause) {
        return cause instanceof KVStoreException told
                ? told
                : new KVStoreException(
                        operation.kind().name().toLowerCase(Locale.ROOT).replace("_", "-") + " of key "
                                + operation.key().key() + " failed: " + cause.getMessage(),
                        cause);
    }

    void fail(Throwable cause) {
        if (listener != null) {
            listener.failed(operation, cause, System.nanoTime());
        }
        future.completeExceptionally(cause);
    }
}
