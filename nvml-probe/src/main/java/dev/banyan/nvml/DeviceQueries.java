package dev.banyan.nvml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;

/** Asks NVML for the properties of a device. */
final class DeviceQueries {
    /** {@code nvmlMemory_t}. */
    static final StructLayout MEMORY = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("total"),
            ValueLayout.JAVA_LONG.withName("free"),
            ValueLayout.JAVA_LONG.withName("used"));

    private static final int NAME_BYTES = 96;
    private static final int MIG_ENABLED = 1;
    private static final int AFFINITY_SCOPE_NODE = 0;
    /** Words of 64 NUMA nodes each; more nodes than any machine has. */
    private static final int NODE_WORDS = 16;

    private final NvmlSession session;
    private final LinuxFiles linux;
    private final LinkQueries links;

    DeviceQueries(NvmlSession session, LinuxFiles linux, LinkQueries links) {
        this.session = session;
        this.linux = linux;
        this.links = links;
    }

    /** Returns whether the device is cut into partitions. */
    boolean isMig(MemorySegment device, String subject) {
        return NvmlSession.ifSupported(() -> twoInts(NvmlCall.MIG_MODE, device, subject))
                .map(modes -> modes.get(ValueLayout.JAVA_INT, 0) == MIG_ENABLED)
                .orElse(false);
    }

    /**
     * Reads the properties of a device.
     *
     * @throws NvmlException if the device cannot be used
     */
    ProbedGpu read(int index, MemorySegment device) {
        String subject = ProbedGpu.name(index);
        PciAddress address = PciAddress.of(session.result(NvmlCall.PCI_INFO, subject, PciAddress.PCI_INFO, device));
        int generation = session.numberIfSupported(NvmlCall.PCIE_GENERATION, subject, device)
                .orElse(0);
        int lanes =
                session.numberIfSupported(NvmlCall.PCIE_WIDTH, subject, device).orElse(0);
        return new ProbedGpu(
                index,
                session.text(NvmlCall.NAME, subject, NAME_BYTES, device),
                address,
                memory(device, subject),
                computeCapability(device, subject),
                numa(device, subject, address),
                generation,
                lanes,
                links.of(device, subject));
    }

    /** Devices without memory of their own do not support the query. */
    private long memory(MemorySegment device, String subject) {
        return NvmlSession.ifSupported(() -> session.result(NvmlCall.MEMORY_INFO, subject, MEMORY, device))
                .map(memory -> memory.get(ValueLayout.JAVA_LONG, MEMORY.byteOffset(PathElement.groupElement("total"))))
                .orElse(0L);
    }

    private int computeCapability(MemorySegment device, String subject) {
        return NvmlSession.ifSupported(() -> twoInts(NvmlCall.COMPUTE_CAPABILITY, device, subject))
                .map(version ->
                        10 * version.get(ValueLayout.JAVA_INT, 0) + version.get(ValueLayout.JAVA_INT, Integer.BYTES))
                .orElse(0);
    }

    /** Calls a function that writes two ints. */
    private MemorySegment twoInts(NvmlCall call, MemorySegment device, String subject) {
        MemorySegment ints = Arena.ofAuto().allocate(ValueLayout.JAVA_INT, 2);
        session.check(call, subject, device, ints, ints.asSlice(Integer.BYTES));
        return ints;
    }

    /** Returns the NUMA node next to the device, or -1 if several are equally near or none is known. */
    private int numa(MemorySegment device, String subject, PciAddress address) {
        return NvmlSession.ifSupported(() -> {
                    MemorySegment words = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, NODE_WORDS);
                    session.check(NvmlCall.MEMORY_AFFINITY, subject, device, NODE_WORDS, words, AFFINITY_SCOPE_NODE);
                    return BitSet.valueOf(words.toArray(ValueLayout.JAVA_LONG));
                })
                .map(nodes -> nodes.cardinality() == 1 ? nodes.nextSetBit(0) : -1)
                .orElseGet(() -> linux.numaNode(address).orElse(-1));
    }
}
