package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An operation under way. Its stages report to it one after another; it reports to the store's listener. */
final class Progress {
    private static final Logger LOG = LoggerFactory.getLogger(Progress.class);

    private final StoreOperation operation;
    private final @Nullable StoreListener listener;
    private final CompletableFuture<Void> future = new CompletableFuture<>();
    private volatile boolean failed;
    /** What the caller does before the call returns. */
    private Runnable callersPart = () -> {};

    Progress(StoreOperation operation, @Nullable StoreListener listener) {
        this.operation = operation;
        this.listener = listener;
        if (listener != null) {
            tell(listener, heard -> heard.submitted(operation, System.nanoTime()));
        }
    }

    StoreOperation operation() {
        return operation;
    }

    /** Completes when the operation has ended. It is the store's own; callers get copies. */
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
            tell(listener, heard -> heard.began(operation, stage, System.nanoTime()));
        }
    }

    void end(Stage stage) {
        if (listener != null) {
            tell(listener, heard -> heard.ended(operation, stage, System.nanoTime()));
        }
    }

    void complete() {
        future.complete(null);
    }

    /** Returns the exception that callers get for a failure. */
    KVStoreException failure(Throwable cause) {
        return cause instanceof KVStoreException told
                ? told
                : new KVStoreException(
                        operation.kind().name().toLowerCase(Locale.ROOT).replace("_", "-") + " of key "
                                + operation.key().key() + " failed: " + KVStoreException.what(cause),
                        cause);
    }

    /**
     * Whether a stage failed. Those after it must not begin then, even if somebody who waited for the key in between
     * has healed it: the caller was told that all is over.
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
            tell(listener, heard -> heard.failed(operation, cause, System.nanoTime()));
        }
        future.completeExceptionally(cause);
    }

    private void tell(StoreListener to, Consumer<StoreListener> news) {
        report(to, news, operation.key());
    }

    /** Calls a listener. A listener that throws must not keep an operation from its end. */
    static void report(StoreListener listener, Consumer<StoreListener> news, KeyInfo key) {
        try {
            news.accept(listener);
        } catch (RuntimeException | Error e) {
            LOG.error("the store's listener failed at key {}", key.key(), e);
        }
    }
}
