package dev.banyan.study.compare;

import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ScheduleLoads;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.LinkLoads;

/** The loads that an algorithm's allreduce puts on links if each transfer takes its usual path. */
public final class AlgorithmLoads {
    private static final CollectiveRequest ONE_ELEMENT =
            new CollectiveRequest(Collective.ALL_REDUCE, -1, 1, 4, false, Long.MAX_VALUE);

    private AlgorithmLoads() {}

    /**
     * Returns the loads, whose rate has no latencies.
     *
     * @param planner plans for the ranks of the network
     */
    public static LinkLoads of(Planner planner, AlgorithmConfig choice, Network network) {
        if (choice.algorithm() == AlgorithmChoice.ONE_SHOT) {
            // Its trees show one rank's sum; all ranks sum up everything.
            return ScheduleLoads.of(
                    ScheduleTraffic.of(planner.plan(choice, ONE_ELEMENT).schedule()), network);
        }
        LinkLoads loads = new LinkLoads(network);
        loads.add(planner.trees(choice, Collective.ALL_REDUCE, -1), Direction.UP_AND_DOWN);
        return loads;
    }
}
