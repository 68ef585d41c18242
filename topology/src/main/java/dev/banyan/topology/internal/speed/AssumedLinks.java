package dev.banyan.topology.internal.speed;

import dev.banyan.topology.Link;
import dev.banyan.topology.LinkSpeeds;

/** Links of text formats, which name a link's kind and no more. */
public final class AssumedLinks {
    /** One NVLink of a GPU that is not known: that of V100, A100 and H100. */
    public static final double NVLINK_LANE_GBS = LinkSpeeds.nvlinkLaneGbs(0);

    private AssumedLinks() {}

    public static Link nvLink(int a, int b, int lanes, double laneGbs) {
        return Link.duplex(a, b, Link.Kind.NVLINK, lanes, lanes * laneGbs, LinkSpeeds.NVLINK_US);
    }

    public static Link pcie(int a, int b, int lanes, double laneGbs) {
        return Link.duplex(a, b, Link.Kind.PCIE, lanes, lanes * laneGbs, LinkSpeeds.PCIE_US);
    }
}
