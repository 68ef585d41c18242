package dev.banyan.kvstore.engine;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Takes operations in and out of the queues of their variables. Whoever has something to tell, that an operation was
 * pushed or has ended, leaves it here; one thread at a time, the first that comes, works through all that was left,
 * in order. So nobody waits for a lock, and the queues need none.
 *
 * <p>Source of the idea: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, "Flat combining and the
 * synchronization-parallelism tradeoff", 2010, <a href="https://doi.org/10.1145/1810479.1810540">
 * doi:10.1145/1810479.1810540</a>.
 */
final class Dispatcher {
    /** What was left here, the latest first. */
    private final AtomicReference<@Nullable Operation> left = new AtomicReference<>();

    private final ThreadLocal<Inline> inlines = ThreadLocal.withInitial(Inline::new);
    private final AtomicBoolean working = new AtomicBoolean();
    private final AtomicLong pending = new AtomicLong();
    private final Object idle = new Object();
    /** Number of operations that were given to threads; only the working thread uses it. */
    private long readied;

    /** What a thread runs itself. */
    private static final class Inline {
        final OperationList operations = new OperationList();
        boolean running;

        /** Returns false if there is none. */
        boolean runNext() {
            Operation next = operations.poll();
            if (next == null) {
                return false;
            }
            running = true;
            next.run();
            running = false;
            return true;
        }
    }

    /** An operation will be pushed: nobody finds the engine idle before it has ended. */
    void announce() {
        pending.incrementAndGet();
    }

    /** An operation that was announced will not be pushed. */
    void withdraw() {
        leave(1);
    }

    /** An operation that was announced gets its places in all queues, after those that this thread pushed before. */
    void push(Operation operation) {
        post(operation);
        work();
    }

    /** An operation has ended. */
    void end(Operation operation) {
        operation.ended = true;
        post(operation);
        work();
    }

    private void post(Operation operation) {
        Operation before = left.get();
        operation.next = before;
        while (!left.compareAndSet(before, operation)) {
            before = left.get();
            operation.next = before;
        }
    }

    /**
     * Who finds another thread at work may go: that thread looks again when it is done. What this thread is to run is
     * run here one after another, also what becomes ready by that, so that no number of them needs more than one
     * stack frame.
     */
    private void work() {
        Inline inline = inlines.get();
        do {
            while (left.get() != null && working.compareAndSet(false, true)) {
                try {
                    takeAll(inline.operations);
                } finally {
                    working.set(false);
                }
            }
        } while (!inline.running && inline.runNext());
    }

    /** Whether this thread is in an operation that it runs here. */
    boolean isRunning() {
        return inlines.get().running;
    }

    /** @param inline gets the operations that this thread is to run */
    private void takeAll(OperationList inline) {
        OperationList ready = new OperationList();
        int ended = 0;
        for (Operation next = oldestFirst(left.getAndSet(null)); next != null; ) {
            Operation operation = next;
            next = operation.next;
            operation.next = null;
            if (operation.ended) {
                release(operation, ready);
                ended++;
            } else {
                queue(operation, ready);
            }
        }
        for (Operation operation = ready.poll(); operation != null; operation = ready.poll()) {
            WorkerThreads threads = operation.threads();
            if (threads == null) {
                inline.add(operation);
            } else {
                operation.readyOrder = readied++;
                threads.execute(operation);
            }
        }
        if (ended > 0) {
            leave(ended);
        }
    }

    private static @Nullable Operation oldestFirst(@Nullable Operation latest) {
        Operation oldest = null;
        for (Operation operation = latest; operation != null; ) {
            Operation before = operation.next;
            operation.next = oldest;
            oldest = operation;
            operation = before;
        }
        return oldest;
    }

    private static void queue(Operation operation, OperationList ready) {
        Variable[] variables = operation.named.variables();
        for (int i = 0; i < variables.length; i++) {
            if (!variables[i].append(operation, i < operation.named.mutations())) {
                operation.heldBy++;
            }
        }
        if (operation.heldBy == 0) {
            ready.add(operation);
        }
    }

    private static void release(Operation operation, OperationList ready) {
        Variable[] variables = operation.named.variables();
        for (int i = 0; i < variables.length; i++) {
            variables[i].release(i < operation.named.mutations(), ready);
        }
    }

    private void leave(int operations) {
        if (pending.addAndGet(-operations) == 0) {
            synchronized (idle) {
                idle.notifyAll();
            }
        }
    }

    /** Waits until no operation is left. */
    void awaitIdle() {
        boolean interrupted = false;
        synchronized (idle) {
            while (pending.get() != 0) {
                try {
                    idle.wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
