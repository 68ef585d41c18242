package dev.banyan.topology.option;

import dev.banyan.config.internal.Quote;
import dev.banyan.topology.LinkSpeeds;
import dev.banyan.topology.internal.text.GpuProduct;
import java.util.Set;

/**
 * Speeds and abilities that a reader of a description takes where the description states none, instead of assuming
 * some.
 *
 * @param pcieGeneration generation of all PCIe slots, 3 to 7; 0 for not known
 * @param pcieLanes lanes of each PCIe slot: 1, 2, 4, 8, 12 or 16; 0 for not known
 * @param nvlinkGbs one NVLink or xGMI link one way in GB/s, e.g. 50 for B200; 0 for not known
 * @param socketGbs between two CPU sockets one way in GB/s; 0 for not known
 * @param product model of all GPUs as nvidia-smi prints it, e.g. {@code NVIDIA H100 80GB HBM3}; empty for not known
 * @param peerAccess whether the driver grants peer access between all GPUs
 */
public record StatedSpeeds(
        int pcieGeneration, int pcieLanes, double nvlinkGbs, double socketGbs, String product, PeerAccess peerAccess) {
    private static final Set<Integer> WIDTHS = Set.of(0, 1, 2, 4, 8, 12, 16);

    /** Nothing is stated. */
    public static final StatedSpeeds NONE = new StatedSpeeds(0, 0, 0, "");

    /** Access of GPUs to each other's memory. */
    public enum PeerAccess {
        /** Granted between all. */
        YES,
        /** Granted to none. */
        NO,
        /** Not known: granted unless the model's driver refuses it. */
        BY_MODEL
    }

    /** Speeds alone: the width of slots is not known, and peer access follows from the model. */
    public StatedSpeeds(int pcieGeneration, double nvlinkGbs, double socketGbs, String product) {
        this(pcieGeneration, 0, nvlinkGbs, socketGbs, product, PeerAccess.BY_MODEL);
    }

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException if a value is out of its range, or the product is none that Banyan knows
     */
    public StatedSpeeds {
        if (pcieGeneration != 0 && (pcieGeneration < 3 || pcieGeneration > 7)) {
            throw new IllegalArgumentException("PCIe generation " + pcieGeneration + " is not known; take 3 to 7");
        }
        if (!WIDTHS.contains(pcieLanes)) {
            throw new IllegalArgumentException(pcieLanes + " lanes are no width of PCIe; take 1, 2, 4, 8, 12 or 16");
        }
        if (!(nvlinkGbs >= 0) || nvlinkGbs > 1000) {
            throw new IllegalArgumentException(
                    nvlinkGbs + " GB/s is no speed of an NVLink one way; give a number above 0, e.g. 25 or 50");
        }
        if (!(socketGbs >= 0) || socketGbs > 1000) {
            throw new IllegalArgumentException(
                    socketGbs + " GB/s is no speed between CPU sockets; give a number above 0, e.g. 20");
        }
        if (!product.isEmpty() && GpuProduct.of(product).isEmpty()) {
            throw new IllegalArgumentException("GPU model \"" + Quote.of(product)
                    + "\" is not known; give it as \"nvidia-smi -L\" prints it, e.g. NVIDIA H100 80GB HBM3, or state"
                    + " the speeds themselves");
        }
    }

    /** One lane of a PCIe generation, as {@link LinkSpeeds#pcieLaneGbs} counts it. */
    public static double pcieLaneGbs(int generation) {
        return LinkSpeeds.pcieLaneGbs(LinkSpeeds.PCIE_GEN3_GTS * (1 << (generation - 3)));
    }
}
