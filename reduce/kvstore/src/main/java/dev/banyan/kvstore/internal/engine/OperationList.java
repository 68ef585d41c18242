package dev.banyan.kvstore.internal.engine;

import org.jspecify.annotations.Nullable;

/** A first-in-first-out list of operations, which link to each other. For one thread. */
final class OperationList {
    private @Nullable Operation first;
    private @Nullable Operation last;

    void add(Operation operation) {
        if (last == null) {
            first = operation;
        } else {
            last.next = operation;
        }
        last = operation;
    }

    @Nullable
    Operation poll() {
        Operation polled = first;
        if (polled != null) {
            first = polled.next;
            polled.next = null;
            if (first == null) {
                last = null;
            }
        }
        return polled;
    }
}
