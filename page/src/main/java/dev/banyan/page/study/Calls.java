package dev.banyan.page.study;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.topology.Machine;

/** Plans allreduces of 4-byte elements on all devices of a machine, in place. Not safe for use from several threads. */
final class Calls {
    static final int ELEMENT_BYTES = 4;

    private final Planner planner;
    private final SimulatedCosts costs;

    Calls(Machine machine, Config config, SimulatedCosts costs) {
        planner = new Planner(machine, config, costs, costs.platform());
        this.costs = costs;
    }

    /** Returns the cost model of the calls. */
    SimulatedCosts costs() {
        return costs;
    }

    /**
     * An algorithm with chunks as long as the simulator finds best; open, if it runs as programs.
     *
     * @param algorithm may be the automatic choice
     */
    AlgorithmConfig choose(AlgorithmConfig algorithm, long elements) {
        CollectiveRequest request = request(elements);
        AlgorithmConfig choice = algorithm.algorithm() == AlgorithmChoice.AUTO ? planner.choose(request) : algorithm;
        return planner.cut(choice, request);
    }

    /** Predicted time in us of a call alone; that of many chunks is extrapolated. */
    double predictedUs(AlgorithmConfig choice, long elements) {
        return planner.predictedUs(choice, request(elements));
    }

    PlannedSchedule plan(AlgorithmConfig choice, long elements) {
        return planner.plan(choice, request(elements));
    }

    private static CollectiveRequest request(long elements) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, elements, ELEMENT_BYTES, true, Long.MAX_VALUE);
    }
}
