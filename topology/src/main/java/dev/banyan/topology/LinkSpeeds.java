package dev.banyan.topology;

import java.util.List;
import java.util.Locale;

/**
 * The assumptions about links whose description names only their kind: bandwidths in GB/s one way, latencies
 * in us per hop.
 *
 * <p>NVLink and xGMI are counted at the hardware's peak, PCIe and socket links at what NCCL takes as usable
 * (src/graph/topo.h and topo.cc of NCCL 2.2x).
 *
 * <p>Latencies are set so that their sum along a path gives what p2pBandwidthLatencyTest measures for
 * small peer writes: on V100 (DGX-1V, four-GPU nodes) 1.6 to 2.0 us over one NVLink hop, 16.4 to 17.6 us
 * from GPU to GPU through one socket (four PCIe hops) and 18.4 to 19.3 us through two; 2.28 us through
 * DGX-2's NVSwitches and 3.2 to 3.4 us through those of A100 (two hops each).
 */
public final class LinkSpeeds {
    /** Latency of a PCIe hop. */
    public static final double PCIE_US = 4.25;
    /** Latency of a hop between CPU sockets. */
    public static final double SOCKET_US = 2;
    /** Latency of a direct NVLink or xGMI hop; xGMI's, for which there is no measurement, is taken as equal. */
    public static final double NVLINK_US = 1.8;

    /** The transfer rates of a lane of PCIe gen1, gen2 and so on, in GT/s. */
    public static final List<Double> PCIE_GTS = List.of(2.5, 5.0, 8.0, 16.0, 32.0, 64.0, 128.0);

    /** Lanes of a full PCIe slot. */
    public static final int PCIE_LANES = 16;
    /** Transfer rate of a PCIe gen3 lane in GT/s: what NCCL takes where a rate is not known. */
    public static final double PCIE_GEN3_GTS = 8;

    /** Between sockets where the CPU is not known: MXNet's "PCI-E connection + CPU", NCCL's Skylake. */
    public static final double SOCKET_GBS = 10;

    private static final double FIRST_NVSWITCH_US = 1.14;
    private static final double NVSWITCH_US = 1.65;

    private LinkSpeeds() {}

    /**
     * One NVLink, by compute capability. From NVIDIA's architecture whitepapers and data sheets, where a
     * GPU's total is both ways together: P100 160 GB/s over 4 links, V100 300 over 6, A100 600 over 12,
     * GA102 112.5 over 4, H100 900 over 18, B200 1800 over 18.
     *
     * @param sm compute capability times 10, e.g. 70; below 60, as for "not known", V100's is taken
     */
    public static double nvlinkLaneGbs(int sm) {
        if (sm >= 100) {
            return 50;
        }
        if (sm == 86) {
            return 14.0625;
        }
        return sm >= 60 && sm < 70 ? 20 : 25;
    }

    /**
     * One xGMI (Infinity Fabric) link of 16 lanes, by architecture. From AMD's CDNA whitepapers and data
     * sheets, both ways together: MI50, MI60 and MI100 92 GB/s, MI200 100, MI300 128, MI350 153.6.
     *
     * @param architecture gfx name or RCCL's number of it, e.g. {@code gfx942}, {@code 910}; MI200's is
     *     taken for names that are not known
     */
    public static double xgmiLaneGbs(String architecture) {
        String name = architecture.toLowerCase(Locale.ROOT);
        String digits = name.startsWith("gfx") ? name.substring(3) : name;
        if (digits.startsWith("906") || digits.startsWith("908")) {
            return 46;
        }
        if (digits.startsWith("94")) {
            return 64;
        }
        return digits.startsWith("95") ? 76.8 : 50;
    }

    /**
     * One PCIe lane, as NCCL counts it: 12 GB/s for gen3 x16.
     *
     * @param gts transfer rate in GT/s, one of {@link #PCIE_GTS}
     */
    public static double pcieLaneGbs(double gts) {
        // Up to gen2 every tenth bit is coding, from gen3 on hardly any.
        return gts * (gts < PCIE_GEN3_GTS ? 0.075 : 0.09375);
    }

    /**
     * One hop between a device and an NVSwitch.
     *
     * @param sm compute capability times 10; H100's, for which there is no measurement, is taken as A100's
     */
    public static double nvswitchUs(int sm) {
        return sm < 80 ? FIRST_NVSWITCH_US : NVSWITCH_US;
    }
}
