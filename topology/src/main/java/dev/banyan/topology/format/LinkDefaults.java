package dev.banyan.topology.format;

import dev.banyan.topology.Link;

/**
 * What is assumed of links whose description says only their kind. Bandwidths are in GB/s one way,
 * latencies in us.
 */
final class LinkDefaults {
    /** One NVLink of generation 2, 3 or 4 (V100, A100, H100). */
    static final double NVLINK_LANE_GBS = 25;
    /** One NVLink of generation 1 (P100). */
    static final double NVLINK1_LANE_GBS = 20;
    /** A PCIe 3.0 x16 slot, less its protocol. */
    static final double PCIE_GBS = 12;
    /** Lanes of a full slot. */
    static final int PCIE_LANES = 16;
    /** Between two CPU sockets, for peer traffic. */
    static final double SOCKET_GBS = 10;

    static final double NVLINK_US = 1;
    static final double PCIE_US = 1;
    static final double SOCKET_US = 1;

    private LinkDefaults() {}

    static Link nvLink(int a, int b, int lanes, double laneGbs) {
        return Link.duplex(a, b, Link.Kind.NVLINK, lanes, lanes * laneGbs, NVLINK_US);
    }

    static Link pcie(int a, int b) {
        return Link.duplex(a, b, Link.Kind.PCIE, PCIE_LANES, PCIE_GBS, PCIE_US);
    }

    static Link socket(int a, int b) {
        return Link.duplex(a, b, Link.Kind.SOCKET, 1, SOCKET_GBS, SOCKET_US);
    }
}
