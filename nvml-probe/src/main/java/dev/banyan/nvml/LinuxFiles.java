package dev.banyan.nvml;

import dev.banyan.topology.internal.speed.CpuModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Linux's reports on PCI devices and CPUs, for what drivers do not report.
 *
 * @param root the folder that has {@code sys} and {@code proc}
 */
record LinuxFiles(Path root) {
    private static final String CLASS_NVSWITCH = "0x0680";

    static LinuxFiles ofThisMachine() {
        return new LinuxFiles(Path.of("/"));
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

    /** Returns the CPUs. */
    CpuModel cpu() {
        return read("proc/cpuinfo")
                .map(text -> CpuModel.in(text.lines().toList()))
                .orElse(CpuModel.UNKNOWN);
    }

    private Optional<String> read(PciAddress address, String file) {
        return read("sys/bus/pci/devices/" + address.busId() + "/" + file).map(String::strip);
    }

    /** Returns the contents of a file; empty if it cannot be read, as containers may hide it. */
    private Optional<String> read(String file) {
        try {
            return Optional.of(Files.readString(root.resolve(file)));
        } catch (IOException e) {
            return Optional.empty();
        }
    }
}
