package dev.banyan.kvstore;

import java.util.Objects;

/**
 * One key's part of a call of a store.
 *
 * @param id number of operations that the store took before it, from 0; a key's operations take effect in this order
 * @param kind what was called
 * @param key the key
 * @param priority any integer, as the program gave it; operations of greater priority go first
 */
public record StoreOperation(long id, Kind kind, KeyInfo key, int priority) {
    /** The kind of an operation. */
    public enum Kind {
        /** The key's arrays are reduced into its value. */
        PUSH,
        /** The key's value is copied to arrays. */
        PULL,
        /** Both at once. */
        PUSH_PULL
    }

    public StoreOperation {
        Objects.requireNonNull(kind, "kind");
        Objects.requireNonNull(key, "key");
    }
}
