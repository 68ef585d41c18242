package dev.banyan.topology;

import java.util.Map;
import java.util.Objects;

/**
 * A node that forwards data and holds none.
 *
 * @param name what the description calls it, or a name made by the reader
 * @param kind what it is
 * @param reduces whether it can also copy one input to several outputs and add several inputs up, as NVSwitches from
 *     H100's on do (NVLink SHARP)
 * @param attributes what else the description says of it, by name
 */
public record Hub(String name, Kind kind, boolean reduces, Map<String, String> attributes) implements Node {
    /**
     * Compute capability times 10 of the first GPUs whose NVSwitches reduce: H100's ("NVIDIA H100 Tensor Core GPU
     * Architecture", 2022: third-generation NVSwitch with SHARP).
     */
    public static final int FIRST_REDUCING_SM = 90;

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
        if (reduces && kind != Kind.NVSWITCH) {
            throw new IllegalArgumentException(
                    name + " is no NVSwitch, and only NVSwitches reduce; say that it does not");
        }
        attributes = Attributes.copyOf(attributes);
    }

    /** A hub that only forwards. */
    public Hub(String name, Kind kind, Map<String, String> attributes) {
        this(name, kind, false, attributes);
    }

    /** A hub that only forwards and of which nothing else is known. */
    public static Hub of(String name, Kind kind) {
        return new Hub(name, kind, Map.of());
    }
}
