package dev.banyan.kvstore.internal.engine;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Stands for data that operations read and mutate. Its operations run in the order in which they were pushed:
 * consecutive reads together, everything else alone. A read that comes after a waiting mutation waits too, so that no
 * operation starves.
 *
 * <p>A variable belongs to the engine that created it. It needs no closing. Only the {@link Dispatcher} accesses its
 * queue.
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

    /** Adds an operation to the end of the queue and returns whether the queue releases it at once. */
    boolean append(Operation operation, boolean mutates) {
        if (waiting.isEmpty() && isFreeFor(mutates)) {
            occupy(mutates);
            return true;
        }
        waiting.add(new Waiting(operation, mutates));
        return false;
    }

    /** Removes an ended operation, releases those next in the queue, and collects the ones that become ready. */
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

    /** Returns the failure that poisoned the variable, or null. Released operations may call it. */
    @Nullable
    Throwable poison() {
        return poison;
    }

    /** Poisons the variable, or heals it if the cause is null. */
    void setPoison(@Nullable Throwable cause) {
        poison = cause;
    }
}
