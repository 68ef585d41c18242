package dev.banyan.topology;

import java.util.Map;
import java.util.Objects;

/**
 * A network card. It takes no part in what Banyan runs inside one machine; it is kept so that no
 * format loses it.
 *
 * @param name its name, e.g. {@code mlx5_0}
 * @param hub index of the node that it is attached to (see {@link Machine#node}), or -1 where it is not known
 * @param attributes what else the description says of it, by name
 */
public record Nic(String name, int hub, Map<String, String> attributes) {
    public Nic {
        Objects.requireNonNull(name, "name");
        attributes = Attributes.copyOf(attributes);
    }
}
