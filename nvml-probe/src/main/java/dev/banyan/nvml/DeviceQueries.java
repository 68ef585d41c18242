package dev.banyan.nvml;

import java.lang.foreign.Arena;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;

/** Asks for what one device is. */
final class DeviceQueries {
    /** {@code nvmlMemory_t}. */
    static final StructLayout MEMORY = MemoryLayout.structLayout(
            ValueLayout.JAVA_LONG.withName("total"),
            ValueLayout.JAVA_LONG.withName("free"),
            ValueLayout.JAVA_LONG.withName("used"));

    private static final int NAME_BYTES = 96;
    private static final int MIG_ENABLED = 1;
    private static final int AFFINITY_SCOPE_NODE = 0;
    /** Words of 64 NUMA nodes; more nodes than any machine has. */
    private static final int NODE_WORDS = 16;

    private final NvmlSession session;
    private final SysfsPci sysfs;
    private final LinkQueries links;

    DeviceQueries(NvmlSession session, SysfsPci sysfs, LinkQueries links) {
        this.session = session;
        this.sysfs = sysfs;
        this.links = links;
    }

    /** Whether the device is cut into partitions. */
    boolean isMig(MemorySegment device, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment current = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment pending = arena.allocate(ValueLayout.JAVA_INT);
            session.check(NvmlCall.MIG_MODE, subject, device, current, pending);
            return current.get(ValueLayout.JAVA_INT, 0) == MIG_ENABLED;
        } catch (NvmlException e) {
            return unless(e, false);
        }
    }

    /**
     * All that is to know of a device.
     *
     * @throws NvmlException if the device cannot be used
     */
    ProbedGpu read(int index, MemorySegment device) {
        String subject = ProbedGpu.name(index);
        PciAddress address = address(device, subject);
        OptionalInt generation = session.numberIfSupported(NvmlCall.PCIE_GENERATION, subject, device);
        OptionalInt lanes = session.numberIfSupported(NvmlCall.PCIE_WIDTH, subject, device);
        return new ProbedGpu(
                index,
                model(device, subject),
                address,
                memory(device, subject),
                computeCapability(device, subject),
                numa(device, subject, address),
                generation.orElse(0),
                lanes.orElse(0),
                links.of(device, subject));
    }

    private PciAddress address(MemorySegment device, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment pciInfo = arena.allocate(PciAddress.PCI_INFO);
            session.check(NvmlCall.PCI_INFO, subject, device, pciInfo);
            return PciAddress.of(pciInfo);
        }
    }

    private String model(MemorySegment device, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(NAME_BYTES);
            session.check(NvmlCall.NAME, subject, device, text, NAME_BYTES);
            return text.getString(0);
        }
    }

    /** Devices without memory of their own do not support the query. */
    private long memory(MemorySegment device, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(MEMORY);
            session.check(NvmlCall.MEMORY_INFO, subject, device, memory);
            return memory.get(ValueLayout.JAVA_LONG, MEMORY.byteOffset(PathElement.groupElement("total")));
        } catch (NvmlException e) {
            return unless(e, 0L);
        }
    }

    private int computeCapability(MemorySegment device, String subject) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment major = arena.allocate(ValueLayout.JAVA_INT);
            MemorySegment minor = arena.allocate(ValueLayout.JAVA_INT);
            session.check(NvmlCall.COMPUTE_CAPABILITY, subject, device, major, minor);
            return 10 * major.get(ValueLayout.JAVA_INT, 0) + minor.get(ValueLayout.JAVA_INT, 0);
        } catch (NvmlException e) {
            return unless(e, 0);
        }
    }

    /** The one node near the device; -1 where several are equally near, or none is known. */
    private int numa(MemorySegment device, String subject, PciAddress address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = arena.allocate(ValueLayout.JAVA_LONG, NODE_WORDS);
            session.check(NvmlCall.MEMORY_AFFINITY, subject, device, NODE_WORDS, words, AFFINITY_SCOPE_NODE);
            int node = -1;
            for (int word = 0; word < NODE_WORDS; word++) {
                long bits = words.getAtIndex(ValueLayout.JAVA_LONG, word);
                if (bits != 0) {
                    if (node >= 0 || Long.bitCount(bits) > 1) {
                        return -1;
                    }
                    node = word * Long.SIZE + Long.numberOfTrailingZeros(bits);
                }
            }
            return node;
        } catch (NvmlException e) {
            return unless(e, sysfs.numaNode(address).orElse(-1));
        }
    }

    private static <T> T unless(NvmlException e, T unsupported) {
        if (NvmlSession.isUnsupported(e)) {
            return unsupported;
        }
        throw e;
    }
}
