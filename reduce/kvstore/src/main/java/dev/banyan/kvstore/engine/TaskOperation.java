package dev.banyan.kvstore.engine;

import org.jspecify.annotations.Nullable;

/** Runs a task on a lane's threads. */
final class TaskOperation extends Operation {
    private final DependencyEngine engine;
    private final Workers workers;
    private final Task task;

    TaskOperation(DependencyEngine engine, Workers workers, Task task, Named named, int priority) {
        super(named, priority);
        this.engine = engine;
        this.workers = workers;
        this.task = task;
    }

    @Override
    Workers workers() {
        return workers;
    }

    @Override
    void run() {
        @Nullable Throwable failure = poison();
        try {
            if (failure == null) {
                task.run();
            } else {
                task.skipped(failure);
            }
        } catch (Throwable e) {
            failure = e;
        }
        engine.end(this, failure, workers);
    }
}
