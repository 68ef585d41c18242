package dev.banyan.topology.internal.text;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;

/** The maker of the GPUs of a machine, and its name for the links that join them directly. */
public final class LinkNames {
    /** Attribute of a device: its maker, where the description shows it and has no architecture. */
    public static final String VENDOR = "gpu.vendor";

    private LinkNames() {}

    /** Returns xGMI for AMD's GPUs, else NVLink. */
    public static String direct(Machine machine) {
        return isOfAmd(machine) ? "xGMI" : "NVLink";
    }

    /** Returns whether a machine has AMD's GPUs, as far as its description shows. */
    public static boolean isOfAmd(Machine machine) {
        return machine.links().stream().anyMatch(link -> link.kind() == Link.Kind.XGMI)
                || machine.devices().stream()
                        .anyMatch(device -> device.attributes().containsKey("gcn")
                                || device.attributes().getOrDefault(VENDOR, "").equals("AMD"));
    }
}
