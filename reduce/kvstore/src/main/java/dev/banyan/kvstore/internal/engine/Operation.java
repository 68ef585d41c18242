package dev.banyan.kvstore.internal.engine;

import org.jspecify.annotations.Nullable;

/** An operation that was pushed, with the number of queues that still hold it. */
abstract class Operation implements Runnable {
    final Named named;
    final int priority;
    /** The next operation in the list that holds this one. An operation is in at most one list at a time. */
    @Nullable
    Operation next;
    /** True if the operation has run or was skipped. */
    boolean ended;
    /** The number of queues that have not released it. Only the {@link Dispatcher} accesses it. */
    int heldBy;
    /** The number of operations that were ready before. The {@link Dispatcher} writes it before the operation runs. */
    long readyOrder;

    /** Why no thread could run the operation, which is then skipped; only the {@link Dispatcher} writes it. */
    @Nullable
    Throwable refusal;

    Operation(Named named, int priority) {
        this.named = named;
        this.priority = priority;
    }

    /** Returns the threads that run this operation, or null if the thread that releases it runs it inline. */
    abstract @Nullable WorkerThreads threads();

    /** Runs the task, or skips it, and reports the end to the engine. Throws nothing. */
    @Override
    public abstract void run();

    /** Returns the failure that poisoned a variable that the operation names, or null. */
    final @Nullable Throwable poison() {
        for (Variable variable : named.variables()) {
            Throwable poison = variable.poison();
            if (poison != null) {
                return poison;
            }
        }
        return null;
    }
}
