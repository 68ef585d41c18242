package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.engine.Task;
import org.jspecify.annotations.Nullable;

/** Part of an operation that a device computes by itself. */
final class Work implements Task {
    private final Progress progress;
    private final @Nullable Stage stage;
    private final boolean last;
    private final Runnable body;

    /**
     * @param stage the stage for the listener, or null if the listener gets none
     * @param last whether the operation has ended with it
     * @param body the work
     */
    Work(Progress progress, @Nullable Stage stage, boolean last, Runnable body) {
        this.progress = progress;
        this.stage = stage;
        this.last = last;
        this.body = body;
    }

    @Override
    public void run() {
        if (progress.hasFailed()) {
            return;
        }
        if (stage != null) {
            progress.begin(stage);
        }
        try {
            body.run();
        } catch (Throwable e) {
            KVStoreException failure = progress.failure(e);
            progress.fail(failure);
            throw failure;
        }
        if (stage != null) {
            progress.end(stage);
        }
        if (last) {
            progress.complete();
        }
    }

    @Override
    public void skipped(Throwable cause) {
        progress.fail(cause);
    }
}
