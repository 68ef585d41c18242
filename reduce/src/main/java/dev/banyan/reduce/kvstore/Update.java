package dev.banyan.reduce.kvstore;

import dev.banyan.reduce.engine.Task;
import dev.banyan.reduce.kvstore.StoreListener.Stage;

/** The stage of an operation that works what was pushed into the value. */
final class Update implements Task {
    private final Progress progress;
    private final boolean last;
    private final Runnable update;

    /** @param last whether the operation has ended with this stage */
    Update(Progress progress, boolean last, Runnable update) {
        this.progress = progress;
        this.last = last;
        this.update = update;
    }

    @Override
    public void run() {
        progress.begin(Stage.UPDATE);
        try {
            update.run();
        } catch (Throwable e) {
            KVStoreException told = progress.failure(e);
            progress.fail(told);
            throw told;
        }
        progress.end(Stage.UPDATE);
        if (last) {
            progress.complete();
        }
    }

    @Override
    public void skipped(Throwable cause) {
        progress.fail(cause);
    }
}
