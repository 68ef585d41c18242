package dev.banyan.kvstore.internal.engine;

/** The work of an operation, which has ended when it returns. */
@FunctionalInterface
public interface Task {
    /**
     * Does the work. It must not wait for operations of the engine.
     *
     * @throws Exception if the work fails, which poisons the variables that the operation mutates
     */
    void run() throws Exception;

    /**
     * Is called instead of {@link #run} if a variable that the operation names is poisoned, or if the system has no
     * thread for the task.
     *
     * @param cause the failure that poisoned the variable, or why there is no thread
     */
    default void skipped(Throwable cause) {}
}
