package dev.banyan.study.compare;

import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.workload.Predictions;
import dev.banyan.topology.Machine;

/** Rates of an allreduce of 1 GiB out of place, as {@code banyan predict} has them, in GB/s. */
record PredictedRates(Machine machine, SimulatedCosts costs) {
    private static final long BYTES = 1 << 30;

    static PredictedRates of(Machine machine, Execution execution) {
        return new PredictedRates(machine, new SimulatedCosts(machine, Profiles.of(machine), execution));
    }

    double gbs(AlgorithmConfig algorithm) {
        Predictions predictions = Predictions.of(machine, algorithm, costs);
        CollectiveRequest request = Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), BYTES, false);
        return gbs(predictions.us(predictions.plan(request), request));
    }

    static double gbs(SimulatedNccl nccl) {
        return gbs(nccl.call(Collective.ALL_REDUCE, BYTES).us());
    }

    private static double gbs(double us) {
        return BYTES / us / 1e3;
    }
}
