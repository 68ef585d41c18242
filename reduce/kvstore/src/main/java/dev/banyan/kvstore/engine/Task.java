package dev.banyan.kvstore.engine;

/** What an operation does. It has ended when it returns. */
@FunctionalInterface
public interface Task {
    /**
     * Does it. It must not wait for operations of the engine.
     *
     * @throws Exception to poison the variables that it mutates
     */
    void run() throws Exception;

    /**
     * Called instead of {@link #run} if a variable that the operation names is poisoned.
     *
     * @param cause what poisoned it
     */
    default void skipped(Throwable cause) {}
}
