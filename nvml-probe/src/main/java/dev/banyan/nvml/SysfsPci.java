package dev.banyan.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Linux's report on PCI devices, for drivers that report less.
 *
 * @param devices the folder {@code /sys/bus/pci/devices}
 */
record SysfsPci(Path devices) {
    private static final String CLASS_NVSWITCH = "0x0680";

    static SysfsPci ofThisMachine() {
        return new SysfsPci(Path.of("/sys/bus/pci/devices"));
    }

    /** Returns whether a device is a bridge of no other kind, as NVSwitches are; empty if Linux does not know it. */
    Optional<Boolean> isSwitch(PciAddress address) {
        return read(address, "class").map(pciClass -> pciClass.startsWith(CLASS_NVSWITCH));
    }

    /** Returns the NUMA node of a device; empty if it is unknown. */
    OptionalInt numaNode(PciAddress address) {
        return read(address, "numa_node")
                .filter(text -> text.matches("[0-9]{1,6}"))
                .map(text -> OptionalInt.of(Integer.parseInt(text)))
                .orElse(OptionalInt.empty());
    }

    /** Returns the contents of a file of a device; empty if it cannot be read, as containers may hide it. */
    private Optional<String> read(PciAddress address, String file) {
        try {
            return Optional.of(Files.readString(devices.resolve(address.busId()).resolve(file))
                    .strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
