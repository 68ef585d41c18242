package dev.banyan.topology;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One GPU of a machine. Its index in {@link Machine#devices()} is its node index and, in a
 * communicator over the whole machine, its rank.
 *
 * @param name what the description calls it, e.g. {@code GPU0}
 * @param busId PCI bus id in lower case, e.g. {@code 0000:1a:00.0}, or null where it is not known
 * @param numa NUMA node, or -1 where it is not known
 * @param attributes what else the description says of it, by name; kept so that no format loses it
 */
public record Device(String name, @Nullable String busId, int numa, Map<String, String> attributes) implements Node {
    public Device {
        Objects.requireNonNull(name, "name");
        attributes = Attributes.copyOf(attributes);
    }

    /** A device of which nothing but its name is known. */
    public static Device named(String name) {
        return new Device(name, null, -1, Map.of());
    }
}
