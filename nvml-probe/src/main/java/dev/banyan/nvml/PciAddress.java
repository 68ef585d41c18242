package dev.banyan.nvml;

import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.Locale;

/**
 * The address of a PCI device.
 *
 * @param domain 32 bits, unsigned
 * @param bus 0..255
 * @param device 0..31
 */
record PciAddress(int domain, int bus, int device) {
    /** The layout of {@code nvmlPciInfo_t} as nvmlDeviceGetPciInfo_v3 fills it. */
    static final StructLayout PCI_INFO = MemoryLayout.structLayout(
            MemoryLayout.sequenceLayout(16, ValueLayout.JAVA_BYTE).withName("busIdLegacy"),
            ValueLayout.JAVA_INT.withName("domain"),
            ValueLayout.JAVA_INT.withName("bus"),
            ValueLayout.JAVA_INT.withName("device"),
            ValueLayout.JAVA_INT.withName("pciDeviceId"),
            ValueLayout.JAVA_INT.withName("pciSubSystemId"),
            MemoryLayout.sequenceLayout(32, ValueLayout.JAVA_BYTE).withName("busId"));

    /** Reads an address from a filled {@link #PCI_INFO}. */
    static PciAddress of(MemorySegment pciInfo) {
        return new PciAddress(field(pciInfo, "domain"), field(pciInfo, "bus"), field(pciInfo, "device"));
    }

    private static int field(MemorySegment pciInfo, String name) {
        return pciInfo.get(ValueLayout.JAVA_INT, PCI_INFO.byteOffset(MemoryLayout.PathElement.groupElement(name)));
    }

    /** Returns the bus id as Linux and {@link dev.banyan.topology.Device#busId} write it, e.g. {@code 0000:1a:00.0}. */
    String busId() {
        return String.format(Locale.ROOT, "%04x:%02x:%02x.0", domain, bus, device);
    }
}
