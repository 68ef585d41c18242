package dev.banyan.reduce.engine;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one lane. They take ready operations by priority, those of one priority in the order in which they
 * became ready. They are daemons, start when there is something to do, and sleep while there is nothing.
 */
final class Workers implements AutoCloseable {
    private final String name;
    private final int limit;
    /** Ready operations by priority; none is empty. Also the lock of everything here. */
    private final TreeMap<Integer, ArrayDeque<Operation>> ready = new TreeMap<>(Comparator.reverseOrder());
    private int started;
    private int asleep;
    private boolean closed;

    /**
     * @param name how the threads are named
     * @param limit greatest number of threads
     */
    Workers(String name, int limit) {
        this.name = name;
        this.limit = limit;
    }

    void add(Operation operation) {
        synchronized (ready) {
            ready.computeIfAbsent(operation.priority, priority -> new ArrayDeque<>()).add(operation);
            if (asleep > 0) {
                ready.notify();
            } else if (started < limit) {
                started++;
                new WorkerThread(this, name + "-" + started).start();
            }
        }
    }

    /** What worker threads do. */
    void serve() {
        ReadyOperations freed = new ReadyOperations();
        for (Operation next = take(); next != null; next = take()) {
            next.run(freed);
            DependencyEngine.dispatch(freed);
        }
    }

    private @Nullable Operation take() {
        synchronized (ready) {
            while (ready.isEmpty()) {
                if (closed) {
                    return null;
                }
                asleep++;
                try {
                    ready.wait();
                } catch (InterruptedException e) {
                    // Nobody but the engine ends its threads.
                } finally {
                    asleep--;
                }
            }
            Map.Entry<Integer, ArrayDeque<Operation>> first = ready.firstEntry();
            Operation next = first.getValue().remove();
            if (first.getValue().isEmpty()) {
                ready.remove(first.getKey());
            }
            return next;
        }
    }

    /** Lets the threads end when nothing is ready any more. */
    @Override
    public void close() {
        synchronized (ready) {
            closed = true;
            ready.notifyAll();
        }
    }
}
