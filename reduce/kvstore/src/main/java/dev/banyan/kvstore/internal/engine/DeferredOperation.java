package dev.banyan.kvstore.internal.engine;

import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** Starts a task on the thread that releases it, and ends when the task reports its end. */
final class DeferredOperation extends Operation implements Completion {
    private final DependencyEngine engine;
    private final DeferredTask task;
    private final AtomicBoolean reported = new AtomicBoolean();

    DeferredOperation(DependencyEngine engine, DeferredTask task, Named named) {
        super(named, 0);
        this.engine = engine;
        this.task = task;
    }

    @Override
    @Nullable
    WorkerThreads threads() {
        return null;
    }

    @Override
    public void run() {
        Throwable failure = poison();
        try {
            if (failure == null) {
                task.start(this);
                return;
            }
            task.skipped(failure);
        } catch (Throwable e) {
            failure = e;
        }
        end(failure);
    }

    @Override
    public void done() {
        end(null);
    }

    @Override
    public void failed(Throwable cause) {
        end(cause);
    }

    private void end(@Nullable Throwable failure) {
        if (reported.compareAndSet(false, true)) {
            engine.end(this, failure);
        }
    }
}
