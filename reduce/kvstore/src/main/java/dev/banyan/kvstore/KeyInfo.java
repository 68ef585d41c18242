package dev.banyan.kvstore;

import dev.banyan.schedule.type.DataType;
import java.util.Objects;

/**
 * The properties of a key, which never change.
 *
 * @param key its name
 * @param number number of keys that were initialised before it, from 0
 * @param server rank of the device that holds its value, 0..n-1
 * @param count its length in elements, at least 0
 * @param type the type of its elements
 */
public record KeyInfo(Key key, int number, int server, long count, DataType type) {
    public KeyInfo {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(type, "type");
    }

    /** Returns the key's length in bytes. */
    public long bytes() {
        return count * type.bytes();
    }
}
