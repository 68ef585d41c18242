package dev.banyan.kvstore.engine;

import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Runs operations as soon as those before them that touch the same {@link Variable}s allow it, on worker threads of
 * their {@link Lane}, greater priorities first. Every operation sees what it would see if all ran one after another
 * in the order in which they were pushed.
 *
 * <p><b>How.</b> An operation waits in the queue of every variable that it names. Queues let reads that follow each
 * other through together, mutations alone, in the order of the queue. A counter in the operation reaches zero when
 * all its queues have let it through; then it is ready. It gets its places in all queues at one moment, so that of
 * two operations the same one is first everywhere: no circle of waiting can arise, whichever threads push.
 *
 * <p><b>Failures.</b> If a task throws, the variables that its operation mutates are poisoned. An operation that
 * names a poisoned variable is skipped, and poisons those that it mutates. {@link #waitFor} and {@link #waitAll}
 * throw an {@link EngineException} for what they find poisoned, and heal it: what is pushed then runs again.
 *
 * <p><b>Cost.</b> Pushing and ending an operation of v variables is O(v), plus O(log p) for p different priorities
 * among those that are ready.
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
     * Failures by poisoned variable, and by this engine the first of an operation that mutates nothing; the oldest
     * first. Also their lock.
     */
    private final Map<Object, Throwable> failures = new LinkedHashMap<>();

    private volatile boolean closed;

    /**
     * An engine.
     *
     * @param threads greatest number of threads of each lane, at least 1
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

    /** A new variable. */
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
     * @param lane whose threads run it
     * @param task what it does
     * @param reads variables that it reads; those that it mutates as well need not be named here
     * @param mutates variables that it mutates
     * @param priority among ready operations of a lane the greatest goes first
     * @throws IllegalArgumentException if a variable is of another engine
     * @throws IllegalStateException if the engine is closed
     */
    public void push(Lane lane, Task task, Collection<Variable> reads, Collection<Variable> mutates, int priority) {
        Objects.requireNonNull(task, "task");
        WorkerThreads threads = Objects.requireNonNull(lanes.get(lane));
        submit(new TaskOperation(this, threads, task, Named.of(reads, mutates), priority));
    }

    /**
     * Pushes an operation that others bring to its end, and returns at once.
     *
     * @param task starts it
     * @param reads variables that it reads; those that it mutates as well need not be named here
     * @param mutates variables that it mutates
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
     * @throws EngineException if the variable is poisoned; it is healed then
     * @throws IllegalStateException if it is called by a task, or the engine is closed
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
     * Waits until no operation is left; also for those that are pushed meanwhile.
     *
     * @throws EngineException if one failed since the last wait that told so; its cause is the first failure, and
     *     all variables are healed then
     * @throws IllegalStateException if it is called by a task
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
     * Waits for all operations, also for those that tasks push meanwhile, and takes no more. Failures that nobody
     * waited for are forgotten. Closing twice is no error.
     *
     * @throws IllegalStateException if it is called by a task
     */
    @Override
    public void close() {
        checkMayWait();
        dispatcher.awaitIdle();
        closed = true;
        // For operations that came in between.
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
     * An operation has ended.
     *
     * @param failure why it failed or was skipped, or null
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

    /** Returns what poisoned a variable, or null, and makes it sound again. */
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
