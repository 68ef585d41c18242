package dev.banyan.kvstore;

/**
 * Hears what a store does, key by key. All times are of {@link System#nanoTime()}, in ns.
 *
 * <p>An operation is submitted once; then its stages begin and end, in the order in which {@link Stage} tells.
 * Keys that share one collective begin and end together, each with its own operation. An operation that
 * fails tells so instead of the end of the stage that it failed in.
 *
 * <p>Called from several threads at once, from the caller's and from those that do the work: be quick, and throw
 * nothing.
 */
public interface StoreListener {
    /**
     * A step on an operation's way; a push passes through REDUCE and maybe LINK and UPDATE, a pull through
     * BROADCAST.
     */
    enum Stage {
        /** The arrays of all devices go to the key's server, which gets their sum. */
        REDUCE,
        /** The sum of one process becomes that of all, in a store of several. */
        LINK,
        /** The updater works the sum into the key's value, at the server. */
        UPDATE,
        /** The key's value goes from its server to all devices. */
        BROADCAST,
        /** REDUCE and BROADCAST as one collective: what a push-pull without an updater is made of. */
        ALL_REDUCE
    }

    /** A key got its first value. */
    void initialized(KeyInfo key, long nanos);

    /** A caller asked for an operation; it may have to wait for others. */
    void submitted(StoreOperation operation, long nanos);

    /** A stage of an operation begins. */
    void began(StoreOperation operation, Stage stage, long nanos);

    /** A stage of an operation has ended. */
    void ended(StoreOperation operation, Stage stage, long nanos);

    /** An operation failed, in any stage or because one before it had failed. */
    void failed(StoreOperation operation, Throwable cause, long nanos);
}
