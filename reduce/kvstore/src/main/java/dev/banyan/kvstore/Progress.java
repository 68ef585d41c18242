package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** An operation under way: who wants to know of it. Its stages tell of themselves one after another. */
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

    /** Until the call returns, on its thread. */
    void leaveToCaller(Runnable part) {
        callersPart = part;
    }

    /** The caller's part of it; what it returns completes when the operation has ended. */
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

    /** What a failure is told as. */
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

    /** The first time tells whoever wants to know. */
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

    /** A listener that fails must not keep the operation from its end. */
    private void tell(StoreListener to, Consumer<StoreListener> news) {
        try {
            news.accept(to);
        } catch (RuntimeException | Error e) {
            LOG.error(
                    "the store's listener failed at operation {} of key {}",
                    operation.id(),
                    operation.key().key(),
                    e);
        }
    }
}
