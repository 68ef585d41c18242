package dev.banyan.kvstore.internal.engine;

/** The work of an operation that ends asynchronously: the engine only starts it. */
@FunctionalInterface
public interface DeferredTask {
    /**
     * Starts the work. It runs on the thread that releases the operation, so it must hand the work on and return at
     * once.
     *
     * @param completion to be called once, from any thread, when the work has ended
     * @throws Exception if the work cannot be started; the completion must not be called then
     */
    void start(Completion completion) throws Exception;

    /**
     * Is called instead of {@link #start} if a variable that the operation names is poisoned.
     *
     * @param cause the failure that poisoned the variable
     */
    default void skipped(Throwable cause) {}
}
