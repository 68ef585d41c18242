package dev.banyan.kvstore.engine;

/** What an operation does if others bring it to its end: it is only started here. */
@FunctionalInterface
public interface DeferredTask {
    /**
     * Starts it. Runs on whatever thread let the operation go ahead: hand the work on and return at once.
     *
     * @param completion to be called once, from any thread, when the work has ended
     * @throws Exception if it cannot be started; the completion is not to be called then
     */
    void start(Completion completion) throws Exception;

    /**
     * Called instead of {@link #start} if a variable that the operation names is poisoned.
     *
     * @param cause what poisoned it
     */
    default void skipped(Throwable cause) {}
}
