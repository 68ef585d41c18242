package dev.banyan.kvstore;

import dev.banyan.kvstore.internal.engine.DependencyEngine;
import dev.banyan.reduce.Communicator;
import java.lang.foreign.MemorySegment;

/**
 * Joins the stores of several processes: it sums the sums of all processes. All processes call a store's operations in
 * the same order. The store calls {@link #first} and {@link #push} with its lock held, so one at a time.
 */
public interface StoreLink extends AutoCloseable {
    /**
     * Returns whether a process's sum stays in its array until the key is pulled or pushed again; else the sum over all
     * processes follows the push at once.
     */
    boolean waitsForPull();

    /**
     * Copies the first process's first value of a key to all processes, and returns when this process has it.
     *
     * @param value memory of the host
     * @throws RuntimeException if that fails; the key is not made then
     */
    void first(KeyInfo key, MemorySegment value);

    /**
     * Pushes to the engine the operations that sum an array over all processes, behind earlier operations of its key.
     */
    void push(LinkedSum sum);

    /** Closes the link together with the other processes, when all operations of the store have ended. */
    @Override
    void close();

    /** Makes links; found by {@link java.util.ServiceLoader}. */
    interface Provider {
        /**
         * Returns a link for a store of a type that spans processes. All processes call it.
         *
         * @param communicator the devices of this process
         * @param engine the store's
         */
        StoreLink create(StoreType type, Communicator communicator, DependencyEngine engine);
    }
}
