package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;

/** Computes the loads that any schedule puts on the links of a network. */
public final class ScheduleLoads {
    private ScheduleLoads() {}

    /**
     * Returns the loads of a schedule's traffic, each pair of ranks over its usual path. Their {@link
     * LinkLoads#rateGbs} is the rate of the schedule, latencies apart, if it is perfectly pipelined. O(n^2) paths for n
     * ranks.
     *
     * @param network of as many ranks, in the same order
     * @throws IllegalArgumentException if the network has other ranks, or no path between two that it uses
     */
    public static LinkLoads of(ScheduleTraffic traffic, Network network) {
        int n = traffic.ranks();
        if (network.ranks() != n) {
            throw new IllegalArgumentException("a schedule of " + n + " ranks on a network of " + network.ranks()
                    + "; choose as many devices as the schedule has ranks");
        }
        LinkLoads loads = new LinkLoads(network);
        for (int from = 0; from < n; from++) {
            for (int to = 0; to < n; to++) {
                if (traffic.bytesBetween(from, to) > 0) {
                    loads.addTransfer(traffic.shareBetween(from, to), from, to);
                }
            }
        }
        return loads;
    }
}
