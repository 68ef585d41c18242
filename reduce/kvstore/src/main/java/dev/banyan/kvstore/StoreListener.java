package dev.banyan.kvstore;

/**
 * Receives what a store does, operation by operation. All times are of {@link System#nanoTime()}, in ns.
 *
 * <p>An operation is submitted once; then its stages begin and end in the order of {@link Stage}. Keys that share one
 * collective begin and end together, each with its own operation. For an operation that fails, {@link #failed} takes
 * the place of the end of the stage that it failed in.
 *
 * <p>Where devices have memory of their own, the stages of an operation with an optimizer follow each other there
 * without the host, which learns of the last one's end alone: then REDUCE ends, and UPDATE and BROADCAST begin and end.
 *
 * <p>A store calls it from several threads at once, the caller's and its own. Methods must be quick and throw nothing.
 */
public interface StoreListener {
    /**
     * A stage of an operation. A push has REDUCE, LINK in a store over several processes, and UPDATE where there is an
     * optimizer or updater; a pull has BROADCAST.
     */
    enum Stage {
        /** The arrays of all devices are summed at the key's server. */
        REDUCE,
        /** The sums of all processes are summed, in a store over several processes. */
        LINK,
        /** The optimizer or updater changes the key's value by the sum, at the server. */
        UPDATE,
        /** The key's value is copied from its server to all devices. */
        BROADCAST,
        /** REDUCE and BROADCAST as one collective: the only stage of a push-pull without an updater. */
        ALL_REDUCE
    }

    /**
     * A key has its first value.
     *
     * @param key the key
     * @param nanos time in ns
     */
    void initialized(KeyInfo key, long nanos);

    /**
     * The program has called an operation, which may have to wait for others.
     *
     * @param operation the operation
     * @param nanos time in ns
     */
    void submitted(StoreOperation operation, long nanos);

    /**
     * A stage of an operation begins.
     *
     * @param operation the operation
     * @param stage the stage
     * @param nanos time in ns
     */
    void began(StoreOperation operation, Stage stage, long nanos);

    /**
     * A stage of an operation has ended.
     *
     * @param operation the operation
     * @param stage the stage
     * @param nanos time in ns
     */
    void ended(StoreOperation operation, Stage stage, long nanos);

    /**
     * An operation has failed, in any stage or because one before it had failed.
     *
     * @param operation the operation
     * @param cause what it failed with
     * @param nanos time in ns
     */
    void failed(StoreOperation operation, Throwable cause, long nanos);
}
