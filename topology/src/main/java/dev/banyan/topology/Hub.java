package dev.banyan.topology;

import java.util.Map;
import java.util.Objects;

/**
 * A node that forwards data and holds none: it can neither copy nor reduce.
 *
 * @param name what the description calls it, or a name made by the reader
 * @param kind what it is
 * @param attributes what else the description says of it, by name
 */
public record Hub(String name, Kind kind, Map<String, String> attributes) implements Node {
    /** Kind of hub. */
    public enum Kind {
        /** A PCIe switch. */
        PCIE_SWITCH,
        /** A PCIe host bridge (root complex). */
        HOST_BRIDGE,
        /** A CPU socket or NUMA node. */
        CPU_SOCKET,
        /** An NVSwitch, or all NVSwitches of one plane taken as one. */
        NVSWITCH
    }

    public Hub {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(kind, "kind");
        attributes = Attributes.copyOf(attributes);
    }

    /** A hub of which nothing else is known. */
    public static Hub of(String name, Kind kind) {
        return new Hub(name, kind, Map.of());
    }
}
