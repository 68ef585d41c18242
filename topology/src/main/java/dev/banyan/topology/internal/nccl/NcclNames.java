package dev.banyan.topology.internal.nccl;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The names under which a machine keeps NCCL's attributes, so that a file that was read can be written again.
 *
 * <p>The attributes of a {@code cpu}, of a {@code pci} that is a switch, of a {@code gpu} and of a {@code net}
 * keep their names. Those of the PCI function around a {@code gpu} or a {@code net} begin with {@link #PCI}. What
 * has no place of its own is numbered: {@link #DANGLING} on a device are links to devices that are not in the
 * file, {@link #LEAF} on a hub are functions that are neither a switch, nor a known GPU, nor a card.
 */
final class NcclNames {
    static final String PCI = "pci.";
    static final String DANGLING = "dangling.";
    static final String LEAF = "leaf.";
    /** On a device: its {@code c2c} element. */
    static final String C2C = "c2c.";
    /** On a device: "bus id lanes, bus id lanes" of the NVSwitches that it reaches, where the machine has several. */
    static final String NVSWITCHES = "nvlink.nvswitches";
    /** Under {@link #DANGLING}: the element's name. */
    static final String ELEMENT = "element";

    static final String BUSID = "busid";
    static final String CLASS = "class";
    static final String LINK_SPEED = "link_speed";
    static final String LINK_WIDTH = "link_width";

    static final String CLASS_PCIE_SWITCH = "0x060400";
    static final String CLASS_HOST_BRIDGE = "0x060000";
    static final String CLASS_NVSWITCH = "0x068000";
    static final String CLASS_CPU_NVLINK = "0x068001";
    static final String CLASS_NVIDIA_GPU = "0x030200";
    static final String CLASS_AMD_GPU = "0x038000";
    static final String CLASS_NIC = "0x020000";

    /** Bus id that NCCL assumes for an NVSwitch if the file gives none. */
    static final String UNKNOWN_NVSWITCH = "ffffffff:ff:ff.0";

    /** Bandwidth of a link in GB/s one way, where it is not that of its kind. Banyan's own; NCCL ignores it. */
    static final String GBS = "gbs";

    private NcclNames() {}

    /** The attributes that begin with a prefix, without it. */
    static Map<String, String> under(String prefix, Map<String, String> attributes) {
        Map<String, String> found = new LinkedHashMap<>();
        attributes.forEach((key, value) -> {
            if (key.startsWith(prefix)) {
                found.put(key.substring(prefix.length()), value);
            }
        });
        return found;
    }

    /** The attributes without any of the prefixes. */
    static Map<String, String> plain(Map<String, String> attributes) {
        Map<String, String> found = new LinkedHashMap<>();
        attributes.forEach((key, value) -> {
            if (key.indexOf('.') < 0) {
                found.put(key, value);
            }
        });
        return found;
    }

    static void putAll(Map<String, String> target, String prefix, Map<String, String> attributes) {
        attributes.forEach((key, value) -> target.put(prefix + key, value));
    }

    static boolean isGpuClass(String pciClass) {
        // Display controllers (0x03: VGA, 3D, other) and AMD's processing accelerators.
        return pciClass.startsWith("0x03") || pciClass.startsWith("0x12");
    }
}
