package dev.banyan.topology;

import dev.banyan.topology.Link.Kind;

/**
 * The GPU models of the presets, with the peak bandwidth of one of their links one way.
 *
 * <p>NVLink bandwidths are those of NVIDIA's architecture whitepapers: 160 GB/s over 4 links, both ways
 * together, for P100; 300 over 6 for V100; 600 over 12 for A100; 900 over 18 for H100. An Infinity Fabric
 * link of MI250X carries 100 GB/s both ways together (AMD CDNA 2 whitepaper).
 */
enum Gpu {
    K80("Tesla K80", "sm", "37", Kind.PCIE, 0),
    P100("Tesla P100-SXM2-16GB", "sm", "60", Kind.NVLINK, 20),
    V100("Tesla V100-SXM2-16GB", "sm", "70", Kind.NVLINK, 25),
    V100_SXM3("Tesla V100-SXM3-32GB", "sm", "70", Kind.NVLINK, 25),
    A100("NVIDIA A100-SXM4-40GB", "sm", "80", Kind.NVLINK, 25),
    H100("NVIDIA H100 80GB HBM3", "sm", "90", Kind.NVLINK, 25),
    MI250X("AMD Instinct MI250X", "gcn", "910", Kind.XGMI, 50),
    /** Any GPU without links of its own. */
    GENERIC("GPU", "", "", Kind.PCIE, 0);

    final String model;
    /** NCCL's name of the attribute that tells its architecture; empty where there is none. */
    final String architectureKey;
    final String architecture;
    final Kind linkKind;
    final double gbsPerLane;

    Gpu(String model, String architectureKey, String architecture, Kind linkKind, double gbsPerLane) {
        this.model = model;
        this.architectureKey = architectureKey;
        this.architecture = architecture;
        this.linkKind = linkKind;
        this.gbsPerLane = gbsPerLane;
    }
}
