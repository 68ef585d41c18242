package dev.banyan.study.diagnosis;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.study.workload.Predictions;
import dev.banyan.topology.Machine;
import java.util.HashMap;
import java.util.Map;

/** Predicts Banyan's calls on the machines of a diagnosis, whose sweeps share simulators. For one thread. */
final class CallPredictions {
    private final Execution execution;
    private final Map<Constants, Predictor> predictors = new HashMap<>();

    /** @param execution what executes Banyan's calls */
    CallPredictions(Execution execution) {
        this.execution = execution;
    }

    private record Constants(Machine machine, Profile profile) {}

    private record Predictor(RangedCosts costs, Predictions predictions) {}

    /** Predicts a call on the machine of a sweep. */
    PredictedCall call(ComparedSweep measured, CollectiveRequest request) {
        Predictor predictor = predictors.computeIfAbsent(
                new Constants(measured.setting().machine(), measured.profile()), this::predictor);
        return predictor.predictions().call(request, predictor.costs());
    }

    private Predictor predictor(Constants constants) {
        RangedCosts costs = new RangedCosts(constants.machine(), constants.profile(), execution);
        return new Predictor(costs, new Predictions(constants.machine(), Config.defaults(), costs.usual()));
    }
}
