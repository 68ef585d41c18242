package dev.banyan.kvstore.engine;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Stands for something that operations read and mutate. Its operations go ahead in the order in which they were
 * pushed: reads that follow each other together, everything else alone. A read that comes after a waiting
 * mutation waits too, so that nobody waits for ever.
 *
 * <p>A variable belongs to the engine that made it. It needs no closing. Its queue is the {@link Dispatcher}'s.
 */
public final class Variable {
    /** An operation that must wait for those before it. */
    private record Waiting(Operation operation, boolean mutates) {}

    private final DependencyEngine engine;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>(2);
    private int readers;
    private boolean mutating;
    private volatile @Nullable Throwable poison;

    Variable(DependencyEngine engine) {
        this.engine = engine;
    }

    boolean belongsTo(DependencyEngine other) {
        return engine.equals(other);
    }

    /** Puts an operation at the end of the queue. Whether it can go ahead at once. */
    boolean append(Operation operation, boolean mutates) {
        if (waiting.isEmpty() && isFreeFor(mutates)) {
            occupy(mutates);
            return true;
        }
        waiting.add(new Waiting(operation, mutates));
        return false;
    }

    /** An operation has ended: lets through who comes next, and collects those that nothing else holds back. */
    void release(boolean mutated, OperationList ready) {
        if (mutated) {
            mutating = false;
        } else {
            readers--;
        }
        for (Waiting next = waiting.peek(); next != null && isFreeFor(next.mutates()); next = waiting.peek()) {
            waiting.remove();
            occupy(next.mutates());
            if (--next.operation().heldBy == 0) {
                ready.add(next.operation());
            }
        }
    }

    private boolean isFreeFor(boolean mutation) {
        return !mutating && !(mutation && readers > 0);
    }

    private void occupy(boolean mutation) {
        if (mutation) {
            mutating = true;
        } else {
            readers++;
        }
    }

    /** What poisoned it; to be asked by operations that were let through. */
    @Nullable
    Throwable poison() {
        return poison;
    }

    /** Poisons it, or with null heals it. */
    void setPoison(@Nullable Throwable cause) {
        poison = cause;
    }
}
