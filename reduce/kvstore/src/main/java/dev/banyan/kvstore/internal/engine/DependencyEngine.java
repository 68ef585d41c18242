package dev.banyan.kvstore.internal.engine;

import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Runs operations on the worker threads of their {@link Lane}, as soon as the operations pushed before them on the same
 * {@link Variable}s allow it, greatest priority first. Every operation sees the same data as if all ran one after
 * another in the order in which they were pushed.
 *
 * <p><b>Method.</b> An operation waits in the queue of every variable that it names. A queue releases operations in
 * order: consecutive reads together, each mutation alone. A counter in the operation reaches zero when all its queues
 * have released it; then the operation is ready. It enters all queues atomically, so of two operations the same one is
 * first in every queue. So there is no deadlock, whichever threads push.
 *
 * <p><b>Failures.</b> If a task throws, the variables that its operation mutates are poisoned. An operation that names
 * a poisoned variable is skipped, and the variables that it mutates are poisoned, too. {@link #waitFor} and
 * {@link #waitAll} throw an {@link EngineException} for the poisoned variables that they find, and heal them:
 * operations that are pushed afterwards run again.
 *
 * <p><b>Cost.</b> Pushing and ending an operation of v variables is O(v), plus O(log r) for r operations that are
 * ready.
 *
 * <p>Source: the dependency engine of MXNet: T. Chen et al., "MXNet: a flexible and efficient machine learning library
 * for heterogeneous distributed systems", 2015, <a href="https://arxiv.org/abs/1512.01274">arXiv:1512.01274</a>.
 *
 * <p>Safe for use from any thread. Tasks may push operations, but must not wait for any.
 */
public final class DependencyEngine implements AutoCloseable {
    private static final AtomicInteger COUNT = new AtomicInteger();

    private final Map<Lane, WorkerThreads> lanes = new EnumMap<>(Lane.class);
    private final Dispatcher dispatcher = new Dispatcher();
    /**
     * The failures by poisoned variable, the oldest first. The key of the first failed operation that mutates no
     * variable is this engine. Also the lock of the failures.
     */
    private final Map<Object, Throwable> failures = new LinkedHashMap<>();

    private volatile boolean closed;

    /**
     * Creates an engine.
     *
     * @param threads the greatest number of threads of each lane, at least 1
     */
    public DependencyEngine(int threads) {
        if (threads < 1) {
            throw new IllegalArgumentException("an engine of " + threads + " threads; give at least 1");
        }
        String name = "banyan-engine-" + COUNT.incrementAndGet() + "-";
        for (Lane lane : Lane.values()) {
            lanes.put(lane, new WorkerThreads(name + lane.toString().toLowerCase(Locale.ROOT), threads));
        }
    }

    /** Returns a new variable. */
    public Variable variable() {
        return new Variable(this);
    }

    /** Pushes an operation of the {@link Lane#COMPUTE} lane. */
    public void push(Task task, Collection<Variable> reads, Collection<Variable> mutates, int priority) {
        push(Lane.COMPUTE, task, reads, mutates, priority);
    }

    /**
     * Pushes an operation and returns at once.
     *
     * @param lane the lane whose threads run the task
     * @param task the work
     * @param reads the variables that the operation reads; those that it also mutates need not be named here
     * @param mutates the variables that the operation mutates
     * @param priority the ready operation of a lane with the greatest priority runs first
     * @throws IllegalArgumentException if a variable is of another engine
     * @throws IllegalStateException if the engine is closed
     */
    public void push(Lane lane, Task task, Collection<Variable> reads, Collection<Variable> mutates, int priority) {
        Objects.requireNonNull(task, "task");
        WorkerThreads threads = Objects.requireNonNull(lanes.get(lane));
        submit(new TaskOperation(this, threads, task, Named.of(reads, mutates), priority));
    }

    /**
     * Pushes an operation that ends asynchronously, and returns at once.
     *
     * @param task starts the work
     * @param reads the variables that the operation reads; those that it also mutates need not be named here
     * @param mutates the variables that the operation mutates
     * @throws IllegalArgumentException if a variable is of another engine
     * @throws IllegalStateException if the engine is closed
     */
    public void pushDeferred(DeferredTask task, Collection<Variable> reads, Collection<Variable> mutates) {
        Objects.requireNonNull(task, "task");
        submit(new DeferredOperation(this, task, Named.of(reads, mutates)));
    }

    /**
     * Waits for all operations on a variable that were pushed before.
     *
     * @throws EngineException if the variable is poisoned; the call heals it
     * @throws IllegalStateException if a task calls it, or the engine is closed
     */
    public void waitFor(Variable variable) {
        checkMayWait();
        WaitOperation operation = new WaitOperation(this, variable);
        submit(operation);
        Throwable poison = operation.await();
        if (poison != null) {
            throw new EngineException(poison);
        }
    }

    /**
     * Waits until no operation is left, including those that are pushed meanwhile.
     *
     * @throws EngineException if an operation has failed and no wait has reported it; its cause is the first failure,
     * and
     *     the call heals all variables
     * @throws IllegalStateException if a task calls it
     */
    public void waitAll() {
        checkMayWait();
        dispatcher.awaitIdle();
        Throwable first;
        synchronized (failures) {
            first = failures.isEmpty() ? null : failures.values().iterator().next();
            for (Object failed : failures.keySet()) {
                if (failed instanceof Variable variable) {
                    variable.setPoison(null);
                }
            }
            failures.clear();
        }
        if (first != null) {
            throw new EngineException(first);
        }
    }

    /**
     * Waits for all operations, including those that tasks push meanwhile, and accepts no more. It drops failures that
     * no wait has reported. A second call does nothing.
     *
     * @throws IllegalStateException if a task calls it
     */
    @Override
    public void close() {
        checkMayWait();
        dispatcher.awaitIdle();
        closed = true;
        // Operations may have been pushed in between.
        dispatcher.awaitIdle();
        lanes.values().forEach(WorkerThreads::shutdown);
    }

    private void checkMayWait() {
        if (WorkerThreads.isCurrent() || dispatcher.isRunning()) {
            throw new IllegalStateException(
                    "a task waits for its engine, so both would wait for ever; push an operation that does the rest");
        }
    }

    private void submit(Operation operation) {
        Variable[] variables = operation.named.variables();
        for (Variable variable : variables) {
            if (!variable.belongsTo(this)) {
                throw new IllegalArgumentException("a variable of another engine; make it by variable() of the engine"
                        + " that the operation is pushed to");
            }
        }
        dispatcher.announce();
        if (closed) {
            dispatcher.withdraw();
            throw new IllegalStateException("the engine is closed; make a new one");
        }
        dispatcher.push(operation);
    }

    /**
     * Ends an operation.
     *
     * @param failure why the operation failed or was skipped, or null
     */
    void end(Operation operation, @Nullable Throwable failure) {
        if (failure != null) {
            record(operation, failure);
        }
        dispatcher.end(operation);
    }

    private void record(Operation operation, Throwable failure) {
        int mutations = operation.named.mutations();
        synchronized (failures) {
            if (mutations == 0 && operation.poison() == null) {
                failures.putIfAbsent(this, failure);
            }
            for (int i = 0; i < mutations; i++) {
                Variable variable = operation.named.variables()[i];
                if (failures.putIfAbsent(variable, failure) == null) {
                    variable.setPoison(failure);
                }
            }
        }
    }

    /** Heals a variable and returns the failure that had poisoned it, or null. */
    @Nullable
    Throwable heal(Variable variable) {
        if (variable.poison() == null) {
            return null;
        }
        synchronized (failures) {
            variable.setPoison(null);
            return failures.remove(variable);
        }
    }
}
