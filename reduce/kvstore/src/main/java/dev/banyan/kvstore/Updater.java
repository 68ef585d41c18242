package dev.banyan.kvstore;

import java.lang.foreign.MemorySegment;

/**
 * Works what is pushed into a store's values, such as an optimiser. Called for several keys at once from
 * several threads, for one key one call after another.
 */
@FunctionalInterface
public interface Updater {
    /**
     * Changes a value.
     *
     * @param key whose value
     * @param pushed the sum over all devices of what was pushed, as many bytes as the key has; may be changed
     * @param value the value
     */
    void update(KeyInfo key, MemorySegment pushed, MemorySegment value);

    /**
     * Whether keys of this kind can be updated; called when the first is pushed.
     *
     * @throws IllegalArgumentException if not; the message says what is wanted instead
     */
    default void check(KeyInfo key) {}
}
