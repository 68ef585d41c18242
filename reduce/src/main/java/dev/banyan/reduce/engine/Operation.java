package dev.banyan.reduce.engine;

import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** Something that was pushed, with a count of what still holds it back. */
abstract class Operation {
    final Named named;
    final int priority;
    /** Next in {@link ReadyOperations}. */
    @Nullable Operation next;
    /** Queues that have not let it through, plus one until it is in all of them. */
    private final AtomicInteger heldBy;

    Operation(Named named, int priority) {
        this.named = named;
        this.priority = priority;
        heldBy = new AtomicInteger(named.variables().length + 1);
    }

    /** Some queues let it through. Whether nothing holds it back any more. */
    final boolean letThrough(int queues) {
        return heldBy.addAndGet(-queues) == 0;
    }

    /** Whose threads run it; null for the thread that lets it go ahead. */
    abstract @Nullable Workers workers();

    /**
     * Does it, or says that it is skipped. Throws nothing.
     *
     * @param ready gets the operations that may run now, if it has ended
     */
    abstract void run(ReadyOperations ready);

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
