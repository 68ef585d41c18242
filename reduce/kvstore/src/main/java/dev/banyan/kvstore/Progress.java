package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An operation that has not ended. Its stages report to it one after another; it reports to the store's listener. */
final class Progress {
    private static final Logger LOG = LoggerFactory.getLogger(Progress.class);

    private final StoreOperation operation;
    private final @Nullable StoreListener listener;
    private final CompletableFuture<Void> future = new CompletableFuture<>();
    private volatile boolean failed;
    /** The work that the caller's thread does before its call returns. */
    private Runnable callersPart = () -> {};

    Progress(StoreOperation operation, @Nullable StoreListener listener) {
        this.operation = operation;
        this.listener = listener;
        if (listener != null) {
            report(listener, to -> to.submitted(operation, System.nanoTime()));
        }
    }

    StoreOperation operation() {
        return operation;
    }

    /**
     * Returns the store's own future of the operation, which completes when the operation has ended; callers get
     * copies.
     */
    CompletableFuture<Void> future() {
        return future;
    }

    /** Sets what the calling thread runs before its call of the store returns. */
    void leaveToCaller(Runnable part) {
        callersPart = part;
    }

    /** Runs the caller's part. The returned future completes when the operation has ended. */
    CompletableFuture<Void> carryOn() {
        callersPart.run();
        return future;
    }

    void begin(Stage stage) {
        if (listener != null) {
            report(listener, to -> to.began(operation, stage, System.nanoTime()));
        }
    }

    void end(Stage stage) {
        if (listener != null) {
            report(listener, to -> to.ended(operation, stage, System.nanoTime()));
        }
    }

    void complete() {
        future.complete(null);
    }

    /** Returns the exception that callers get for a failure. */
    KVStoreException failure(Throwable cause) {
        return cause instanceof KVStoreException known
                ? known
                : new KVStoreException(
                        operation.kind().name().toLowerCase(Locale.ROOT).replace("_", "-") + " of key "
                                + operation.key().key() + " failed: " + KVStoreException.what(cause),
                        cause);
    }

    /**
     * Returns whether a stage has failed. Later stages must not begin then, even if a wait has healed the key
     * meanwhile: the caller's future has failed already.
     */
    boolean hasFailed() {
        return failed;
    }

    /** Fails the operation; a second failure changes nothing. */
    void fail(Throwable cause) {
        if (failed) {
            return;
        }
        failed = true;
        if (listener != null) {
            report(listener, to -> to.failed(operation, cause, System.nanoTime()));
        }
        future.completeExceptionally(cause);
    }

    private void report(StoreListener to, Consumer<StoreListener> event) {
        report(to, event, operation.key());
    }

    /** Calls a listener. A listener that throws must not keep an operation from its end. */
    static void report(StoreListener listener, Consumer<StoreListener> event, KeyInfo key) {
        try {
            event.accept(listener);
        } catch (RuntimeException | Error e) {
            LOG.error("the store's listener failed at key {}", key.key(), e);
        }
    }
}
