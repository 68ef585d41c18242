package dev.banyan.kvstore.internal.engine;

import org.jspecify.annotations.Nullable;

/** Runs a task on the threads of a lane. */
final class TaskOperation extends Operation {
    private final DependencyEngine engine;
    private final WorkerThreads threads;
    private final Task task;

    TaskOperation(DependencyEngine engine, WorkerThreads threads, Task task, Named named, int priority) {
        super(named, priority);
        this.engine = engine;
        this.threads = threads;
        this.task = task;
    }

    @Override
    WorkerThreads threads() {
        return threads;
    }

    @Override
    public void run() {
        @Nullable Throwable failure = refusal == null ? poison() : refusal;
        try {
            if (failure == null) {
                task.run();
            } else {
                task.skipped(failure);
            }
        } catch (Throwable e) {
            failure = e;
        }
        engine.end(this, failure);
    }
}
