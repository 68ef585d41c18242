package dev.banyan.kvstore.engine;

import org.jspecify.annotations.Nullable;

/** Operations, first in, first out. Linked through the operations; of one thread. */
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
