package dev.banyan.topology.internal.speed;

import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.option.StatedSpeeds;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;

/** The speeds of one reading: what was stated, else what the GPU's model tells, else what is assumed. Used once. */
public final class SpeedChoice {
    /** Words of an assumption on NVLinks or xGMI. */
    public static final String PER_LINK = " GB/s one way per ";
    /** Words of an assumption on PCIe. */
    public static final String PCIE_GENERATION = "PCIe gen";
    /** The assumption on slots of cards, which have fewer lanes on many boards, and of GPUs that are not known. */
    public static final String FULL_SLOTS = LinkSpeeds.PCIE_LANES + " lanes of PCIe for each GPU";
    /** Words of an assumption on lanes. */
    public static final String FULL_WIDTH = LinkSpeeds.PCIE_LANES + " lanes";

    /** Words of an assumption on CPUs. */
    public static final String BETWEEN_SOCKETS = " GB/s between CPU sockets";

    /** Words of an assumption on CPUs that have several NUMA nodes. */
    public static final String INSIDE_CPU = "PCIe's speed between the NUMA nodes of a CPU";

    private final StatedSpeeds stated;
    private final Optional<GpuProduct> product;
    private final Set<String> assumed = new LinkedHashSet<>();

    /** @param found the model that the description itself names, if it names one */
    public SpeedChoice(StatedSpeeds stated, Optional<GpuProduct> found) {
        this.stated = stated;
        product = stated.product().isEmpty() ? found : GpuProduct.of(stated.product());
    }

    /** The model of all GPUs, if it is known. */
    public Optional<GpuProduct> product() {
        return product;
    }

    /**
     * One NVLink or xGMI link one way in GB/s.
     *
     * @param usual what is assumed if nothing is known
     * @param what what kind of link that is, in words
     */
    public double linkGbs(double usual, String what) {
        if (stated.nvlinkGbs() > 0) {
            return stated.nvlinkGbs();
        }
        if (product.isPresent()) {
            return product.get().linkGbs();
        }
        assumed.add(number(usual) + PER_LINK + what);
        return usual;
    }

    /** Returns whether the PCIe generation was stated, or follows from the model. */
    public boolean statesPcie() {
        return stated.pcieGeneration() > 0 || product.isPresent();
    }

    /** Returns the lanes of a slot whose width the description does not state: 16 if nothing is known. */
    public int pcieLanes() {
        if (stated.pcieLanes() == 0 && product.map(GpuProduct::isCard).orElse(stated.pcieGeneration() > 0)) {
            assumed.add(FULL_SLOTS);
        }
        return lanes();
    }

    private int lanes() {
        return stated.pcieLanes() > 0 ? stated.pcieLanes() : LinkSpeeds.PCIE_LANES;
    }

    /** One lane of PCIe one way in GB/s, gen3 as in NCCL if nothing is known. */
    public double pcieLaneGbs() {
        int known = stated.pcieGeneration() > 0
                ? stated.pcieGeneration()
                : product.map(GpuProduct::pcieGeneration).orElse(0);
        if (known > 0) {
            return StatedSpeeds.pcieLaneGbs(known);
        }
        double lane = StatedSpeeds.pcieLaneGbs(3);
        assumed.add(PCIE_GENERATION + "3, " + slot(lane));
        return lane;
    }

    /**
     * The same, where the description tells the generation in another way.
     *
     * @param generation what it tells, 0 for nothing
     */
    public double pcieLaneGbs(int generation) {
        if (generation == 0 || statesPcie()) {
            return pcieLaneGbs();
        }
        double lane = StatedSpeeds.pcieLaneGbs(generation);
        assumed.add(PCIE_GENERATION + generation + ", as GPUs with these NVLinks have, " + slot(lane));
        return lane;
    }

    private String slot(double laneGbs) {
        return number(lanes() * laneGbs) + " GB/s one way for " + lanes() + " lanes by NCCL's count";
    }

    /** Notes an assumption that no option replaces. */
    public void assume(String what) {
        assumed.add(what);
    }

    /**
     * Between two CPU sockets one way in GB/s.
     *
     * @param cpu both CPUs, or the one of which NCCL counts less
     */
    public double socketGbs(CpuModel cpu) {
        if (stated.socketGbs() > 0) {
            return stated.socketGbs();
        }
        OptionalDouble counted = cpu.socketGbs();
        if (cpu.isXeonBeforeSkylake()) {
            assumed.add(number(LinkSpeeds.SOCKET_GBS) + BETWEEN_SOCKETS + ", as a DGX-1 reached with such Xeons"
                    + " (NCCL 2.31 counts " + number(counted.orElseThrow()) + ")");
            return LinkSpeeds.SOCKET_GBS;
        }
        double usual = counted.orElse(LinkSpeeds.SOCKET_GBS);
        assumed.add(
                number(usual) + BETWEEN_SOCKETS + (counted.isPresent() ? ", as NCCL 2.31 counts for this CPU" : ""));
        return usual;
    }

    /** Returns the assumptions so far, one phrase each. */
    public List<String> assumed() {
        return List.copyOf(assumed);
    }

    private static String number(double value) {
        return value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value);
    }
}
