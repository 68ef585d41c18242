package dev.banyan.topology.internal.text;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;

/** Names of the links that join the GPUs of a machine directly, as their maker calls them. */
public final class LinkNames {
    /** Attribute of a device: its maker, where the description shows it and has no architecture. */
    public static final String VENDOR = "gpu.vendor";

    private LinkNames() {}

    /** Returns xGMI for AMD's GPUs, else NVLink. */
    public static String direct(Machine machine) {
        boolean amd = machine.links().stream().anyMatch(link -> link.kind() == Link.Kind.XGMI)
                || machine.devices().stream()
                        .anyMatch(device -> device.attributes().containsKey("gcn")
                                || device.attributes().getOrDefault(VENDOR, "").equals("AMD"));
        return amd ? "xGMI" : "NVLink";
    }
}
