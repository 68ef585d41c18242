package dev.banyan.nvml;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What Linux tells of PCI devices, for drivers that tell less.
 *
 * @param devices the folder {@code /sys/bus/pci/devices}
 */
record SysfsPci(Path devices) {
    private static final String CLASS_NVSWITCH = "0x0680";

    static SysfsPci ofThisMachine() {
        return new SysfsPci(Path.of("/sys/bus/pci/devices"));
    }

    /** Whether a device is a bridge of no other kind, as NVSwitches are; empty where Linux does not know the device. */
    Optional<Boolean> isSwitch(PciAddress address) {
        return read(address, "class").map(pciClass -> pciClass.startsWith(CLASS_NVSWITCH));
    }

    /** The NUMA node of a device; empty where it is not known. */
    OptionalInt numaNode(PciAddress address) {
        return read(address, "numa_node")
                .filter(text -> text.matches("[0-9]{1,6}"))
                .map(text -> OptionalInt.of(Integer.parseInt(text)))
                .orElse(OptionalInt.empty());
    }

    /** Empty where the file cannot be read: containers may hide it. */
    private Optional<String> read(PciAddress address, String file) {
        try {
            return Optional.of(Files.readString(devices.resolve(address.busId()).resolve(file))
                    .strip());
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
