package dev.banyan.kvstore.engine;

import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one lane. They take ready operations by priority, those of one priority in the order in which they
 * became ready. They are daemons, start when there is something to do, and sleep while there is nothing.
 *
 * <p>To wake a thread takes longer than a small operation. So a thread that finds nothing looks again some times
 * before it sleeps, one thread at a time is woken, and none while there are no more operations than threads that look
 * for one.
 */
final class Workers implements AutoCloseable {
    /** How often a thread looks before it sleeps; some 20 us on an idle machine. */
    private static final int LOOKS = 40;

    private final String name;
    private final int limit;
    /** Ready operations by priority; none is empty. Also the lock of everything here. */
    private final TreeMap<Integer, ArrayDeque<Operation>> ready = new TreeMap<>(Comparator.reverseOrder());
    /** An empty one, so that a priority that comes and goes makes no garbage. */
    private ArrayDeque<Operation> spare = new ArrayDeque<>();
    /** Number of ready operations. */
    private int size;
    /** Whether there are any, for those who look without the lock. */
    private volatile boolean any;

    private int started;
    /** Threads that will look here once more before they sleep. */
    private int looking;

    private int asleep;
    /** Whether a thread that slept is on its way. */
    private boolean waking;

    private boolean closed;

    /**
     * @param name how the threads are named
     * @param limit greatest number of threads
     */
    Workers(String name, int limit) {
        this.name = name;
        this.limit = limit;
    }

    /** @param returning whether the caller is one of the threads and will look for an operation next */
    void add(Operation operation, boolean returning) {
        synchronized (ready) {
            ArrayDeque<Operation> same = ready.get(operation.priority);
            if (same == null) {
                same = spare.isEmpty() ? spare : new ArrayDeque<>();
                ready.put(operation.priority, same);
            }
            same.add(operation);
            size++;
            any = true;
            help(looking + (returning ? 1 : 0));
        }
    }

    /** Gets one more thread if there are more operations than threads that come for them anyway. */
    private void help(int coming) {
        if (size <= coming || waking) {
            return;
        }
        if (asleep > 0) {
            waking = true;
            ready.notify();
        } else if (started < limit) {
            started++;
            new WorkerThread(this, name + "-" + started).start();
        }
    }

    /** What worker threads do. */
    void serve() {
        for (Operation next = take(); next != null; next = take()) {
            next.run();
        }
    }

    private @Nullable Operation take() {
        boolean looked = false;
        while (true) {
            synchronized (ready) {
                if (looked) {
                    looking--;
                }
                if (size > 0) {
                    Operation next = remove();
                    help(looking);
                    return next;
                }
                if (closed) {
                    return null;
                }
                if (looked) {
                    sleep();
                } else {
                    looking++;
                }
                looked = !looked;
            }
            if (looked) {
                look();
            }
        }
    }

    @SuppressWarnings("ThreadPriorityCheck") // nothing but the time that it takes depends on who runs meanwhile
    private void look() {
        for (int look = 0; look < LOOKS && !any; look++) {
            Thread.yield();
        }
    }

    private Operation remove() {
        Map.Entry<Integer, ArrayDeque<Operation>> first = ready.firstEntry();
        ArrayDeque<Operation> same = first.getValue();
        Operation next = same.remove();
        size--;
        any = size > 0;
        if (same.isEmpty()) {
            ready.remove(first.getKey());
            spare = same;
        }
        return next;
    }

    private void sleep() {
        asleep++;
        try {
            ready.wait();
        } catch (InterruptedException e) {
            // Nobody but the engine ends its threads.
        } finally {
            asleep--;
            waking = false;
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
