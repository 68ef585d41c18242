package dev.banyan.kvstore.engine;

import org.jspecify.annotations.Nullable;

/** Something that was pushed, with a count of what still holds it back. */
abstract class Operation {
    final Named named;
    final int priority;
    /** Next in the list that it is in: it is in one at a time. */
    @Nullable
    Operation next;
    /** Whether it has been carried out, or skipped. */
    boolean ended;
    /** Queues that have not let it through; in the hands of the {@link Dispatcher}. */
    int heldBy;

    Operation(Named named, int priority) {
        this.named = named;
        this.priority = priority;
    }

    /** Whose threads run it; null for the thread that lets it go ahead. */
    abstract @Nullable Workers workers();

    /** Does it, or says that it is skipped, and tells the engine when it has ended. Throws nothing. */
    abstract void run();

    /** What poisons it: the poison of a variable that it names. */
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
