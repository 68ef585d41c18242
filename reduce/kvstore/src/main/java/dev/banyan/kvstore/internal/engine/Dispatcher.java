package dev.banyan.kvstore.internal.engine;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Adds operations to the queues of their variables and removes them. Threads post pushed and ended operations here. One
 * thread at a time, the first that comes, processes all posted operations in order. So no thread waits for a lock, and
 * the queues need none.
 *
 * <p>Source of the idea: D. Hendler, I. Incze, N. Shavit, M. Tzafrir, "Flat combining and the
 * synchronization-parallelism tradeoff", 2010, <a href="https://doi.org/10.1145/1810479.1810540">
 * doi:10.1145/1810479.1810540</a>.
 */
final class Dispatcher {
    /** The posted operations, the latest first. */
    private final AtomicReference<@Nullable Operation> posted = new AtomicReference<>();

    private final ThreadLocal<Inline> inlines = ThreadLocal.withInitial(Inline::new);
    private final AtomicBoolean working = new AtomicBoolean();
    private final AtomicLong pending = new AtomicLong();
    private final Object idle = new Object();
    /** The number of operations that were given to threads. Only the working thread accesses it. */
    private long readied;

    /** The operations that a thread runs inline. */
    private static final class Inline {
        final OperationList operations = new OperationList();
        boolean running;

        /** Runs the next operation; returns false if there is none. */
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

    /** Announces an operation. The engine is not idle until the operation has ended or was withdrawn. */
    void announce() {
        pending.incrementAndGet();
    }

    /** Withdraws an announced operation. */
    void withdraw() {
        leave(1);
    }

    /** Pushes an announced operation to all its queues, after the operations that this thread pushed before. */
    void push(Operation operation) {
        post(operation);
        work();
    }

    /** Ends an operation and releases those behind it. */
    void end(Operation operation) {
        operation.ended = true;
        post(operation);
        work();
    }

    private void post(Operation operation) {
        Operation before = posted.get();
        operation.next = before;
        while (!posted.compareAndSet(before, operation)) {
            before = posted.get();
            operation.next = before;
        }
    }

    /**
     * Processes posted operations, unless another thread does so, which then also processes those posted meanwhile.
     * Then runs the inline operations of this thread one after another, including those that become ready by that. So a
     * chain of inline operations needs only one stack frame.
     */
    private void work() {
        Inline inline = inlines.get();
        do {
            while (posted.get() != null && working.compareAndSet(false, true)) {
                try {
                    takeAll(inline.operations);
                } finally {
                    working.set(false);
                }
            }
        } while (!inline.running && inline.runNext());
    }

    /** Returns whether this thread is running an inline operation. */
    boolean isRunning() {
        return inlines.get().running;
    }

    /** @param inline receives the operations that this thread must run */
    private void takeAll(OperationList inline) {
        OperationList ready = new OperationList();
        int ended = 0;
        for (Operation next = oldestFirst(posted.getAndSet(null)); next != null; ) {
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
                try {
                    threads.take(operation);
                } catch (OutOfMemoryError e) {
                    operation.refusal = e;
                    inline.add(operation);
                }
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
