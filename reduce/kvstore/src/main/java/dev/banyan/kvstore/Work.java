package dev.banyan.kvstore;

import dev.banyan.kvstore.StoreListener.Stage;
import dev.banyan.kvstore.internal.engine.Task;

/** Part of an operation that a device computes by itself. */
final class Work implements Task {
    private final Progress progress;
    private final Stage stage;
    private final boolean last;
    private final Runnable body;

    /**
     * @param last whether the operation has ended with it
     * @param body the work
     */
    Work(Progress progress, Stage stage, boolean last, Runnable body) {
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
        progress.begin(stage);
        try {
            body.run();
        } catch (Throwable e) {
            KVStoreException failure = progress.failure(e);
            progress.fail(failure);
            throw failure;
        }
        progress.end(stage);
        if (last) {
            progress.complete();
        }
    }

    @Override
    public void skipped(Throwable cause) {
        progress.fail(cause);
    }
}
