package dev.banyan.kvstore;

import dev.banyan.schedule.type.DataType;
import java.util.Objects;

/**
 * What a store knows of a key since it was initialised.
 *
 * @param key its name
 * @param number how many keys were initialised before it
 * @param server rank of the device that holds its value
 * @param count its length in elements
 * @param type the type of its elements
 */
public record KeyInfo(Key key, int number, int server, long count, DataType type) {
    public KeyInfo {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(type, "type");
    }

    /** Its length in bytes. */
    public long bytes() {
        return count * type.bytes();
    }
}
