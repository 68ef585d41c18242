package dev.banyan.kvstore;

import java.lang.foreign.MemorySegment;

/**
 * Changes a store's values by what is pushed, in Java. Where devices have memory of their own, sum and value pass
 * through the host at each push; an {@link dev.banyan.reduce.optimizer.Optimizer} runs on the devices instead. A store
 * calls it for several keys at once from several threads, and for one key one call after another.
 */
@FunctionalInterface
public interface Updater {
    /**
     * Changes a key's value. If it throws, the push fails with a {@link KVStoreException}.
     *
     * @param key the key
     * @param pushed the sum over all devices of what was pushed: host memory of as many bytes as the key has; the
     *     updater may overwrite it
     * @param value the value to change: host memory of as many bytes as the key has
     */
    void update(KeyInfo key, MemorySegment pushed, MemorySegment value);

    /**
     * Checks that keys of this type and length can be updated. A store calls it at each push, before it begins.
     *
     * @param key the key
     * @throws IllegalArgumentException if it cannot be updated; the message says which keys can
     */
    default void check(KeyInfo key) {}
}
