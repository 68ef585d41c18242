package dev.banyan.kvstore.engine;

import org.jspecify.annotations.Nullable;

/** Something that was pushed, with a count of what still holds it back. */
abstract class Operation implements Runnable {
    final Named named;
    final int priority;
    /** Next in the list that it is in: it is in one at a time. */
    @Nullable
    Operation next;
    /** Whether it has been carried out, or skipped. */
    boolean ended;
    /** Number of queues that have not let it through. Only the {@link Dispatcher} uses it. */
    int heldBy;
    /** How many operations were ready before it. Written by the {@link Dispatcher} before the operation is run. */
    long readyOrder;

    Operation(Named named, int priority) {
        this.named = named;
        this.priority = priority;
    }

    /** Returns the threads that run this operation, or null if the thread that releases it runs it inline. */
    abstract @Nullable WorkerThreads threads();

    /** Runs the task, or skips it, and reports the end to the engine. Throws nothing. */
    @Override
    public abstract void run();

    /** Returns the poison of a variable that the operation names, or null. */
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
