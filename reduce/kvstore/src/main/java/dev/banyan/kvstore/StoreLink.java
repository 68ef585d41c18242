package dev.banyan.kvstore;

import dev.banyan.kvstore.engine.DependencyEngine;
import dev.banyan.reduce.Communicator;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Joins the stores of several processes: what the devices of one have summed up is summed up over all. All processes
 * call a store's operations in the same order. First values and pushes come while the store holds its lock, so one at a
 * time.
 */
public interface StoreLink extends AutoCloseable {
    /** Whether a sum is left in its array until the key is pulled or pushed anew; else it follows the push at once. */
    boolean waitsForPull();

    /**
     * Makes a key's first value that of the first process, and returns when it is.
     *
     * @param value memory of the host
     * @throws RuntimeException if that fails; the key is not made then
     */
    void first(KeyInfo key, MemorySegment value);

    /** Puts into the engine what sums an array up over all processes, after what was put there for its key before. */
    void push(LinkedSum sum);

    /** Ends it together with the other processes, when all operations of the store have ended. */
    @Override
    void close();

    /** Makes links; found by {@link java.util.ServiceLoader}. */
    interface Provider {
        /** Names of the types of stores that are linked by it, which no other type has. */
        List<String> types();

        /**
         * A link for a store of one of the types. All processes call it.
         *
         * @param communicator the devices of this process
         * @param engine the store's
         */
        StoreLink create(String type, Communicator communicator, DependencyEngine engine);
    }
}
