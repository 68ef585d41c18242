package dev.banyan.topology;

import dev.banyan.topology.Link.Kind;

/** The GPU models of the presets, with the peak bandwidth of one of their links one way. */
enum Gpu {
    K80("Tesla K80", "sm", "37", Kind.PCIE, 0),
    P100("Tesla P100-SXM2-16GB", "sm", "60", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(60)),
    V100("Tesla V100-SXM2-16GB", "sm", "70", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(70)),
    V100_SXM3("Tesla V100-SXM3-32GB", "sm", "70", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(70)),
    A100("NVIDIA A100-SXM4-40GB", "sm", "80", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(80)),
    H100("NVIDIA H100 80GB HBM3", "sm", "90", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(90)),
    H200("NVIDIA H200", "sm", "90", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(90)),
    B200("NVIDIA B200", "sm", "100", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(100)),
    GB200("NVIDIA GB200", "sm", "100", Kind.NVLINK, LinkSpeeds.nvlinkLaneGbs(100)),
    A10G("NVIDIA A10G", "sm", "86", Kind.PCIE, 0),
    L40S("NVIDIA L40S", "sm", "89", Kind.PCIE, 0),
    RTX_4090("NVIDIA GeForce RTX 4090", "sm", "89", Kind.PCIE, 0),
    MI300X("AMD Instinct MI300X", "gcn", "942", Kind.XGMI, LinkSpeeds.xgmiLaneGbs("942")),
    MI250X("AMD Instinct MI250X", "gcn", "910", Kind.XGMI, LinkSpeeds.xgmiLaneGbs("910")),
    /** Any GPU without links of its own. */
    GENERIC("GPU", "", "", Kind.PCIE, 0);

    final String model;
    /** Name of the attribute in which NCCL's files give its architecture; empty where there is none. */
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
