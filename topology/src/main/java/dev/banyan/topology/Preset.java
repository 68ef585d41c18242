package dev.banyan.topology;

import java.util.List;
import java.util.Objects;

/**
 * A machine that users can name instead of describing it.
 *
 * @param name its name, e.g. {@code p3.16xlarge}
 * @param aliases further names of the same machine, e.g. {@code dgx-1v}
 * @param description what is in the box, in one line
 * @param machine the machine; its name is that of the preset
 */
public record Preset(String name, List<String> aliases, String description, Machine machine) {
    public Preset {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(description, "description");
        Objects.requireNonNull(machine, "machine");
        aliases = List.copyOf(aliases);
    }
}
