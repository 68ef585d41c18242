package dev.banyan.page.study;

import dev.banyan.page.model.StepModel;
import dev.banyan.page.model.StepModel.Exchange;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.CallBuffers;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.workload.CallTimes;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Predicts how long it takes to exchange the gradients of a model. */
final class GradientExchange {
    private static final double US_PER_MS = 1e3;

    private final Calls calls;
    private final SimulatedCosts costs;
    private final List<AlgorithmConfig> algorithms;
    private final Optional<SimulatedNccl> nccl;

    /**
     * @param costs of calls on {@linkplain CallBuffers#ANY any buffers}, as gradients lie in memory of PyTorch
     * @param algorithms those of the first curves
     * @param nccl that of the next curve, if there is one
     */
    GradientExchange(
            Calls calls, SimulatedCosts costs, List<AlgorithmConfig> algorithms, Optional<SimulatedNccl> nccl) {
        this.calls = calls;
        this.costs = costs;
        this.algorithms = algorithms;
        this.nccl = nccl;
    }

    StepModel of(Workload model) {
        Workload gradients = model.inUsualBuckets();
        List<Exchange> ways = new ArrayList<>();
        for (int algorithm = 0; algorithm < algorithms.size(); algorithm++) {
            ways.add(exchange(algorithm, gradients.elements()));
        }
        nccl.map(simulated -> simulated.oneByOneUs(gradients) / US_PER_MS)
                .ifPresent(oneByOneMs -> ways.add(new Exchange(algorithms.size(), oneByOneMs, null, null)));
        return new StepModel(model.name(), gradients.elements(), ways);
    }

    private Exchange exchange(int algorithm, List<Long> elements) {
        Map<Long, PlannedSchedule> bySize = new HashMap<>();
        List<PlannedSchedule> keys = elements.stream()
                .map(size -> bySize.computeIfAbsent(
                        size, key -> calls.plan(calls.choose(algorithms.get(algorithm), key), key)))
                .toList();
        CallTimes times = new CallTimes(costs, keys);
        double[] together = times.endsUs(keys.size());
        double oneByOneUs = times.endUs(1);
        return new Exchange(
                algorithm,
                oneByOneUs / US_PER_MS,
                Arrays.stream(together).max().orElse(0) / US_PER_MS,
                Arrays.stream(together)
                        .mapToObj(us -> Math.rint(us) / US_PER_MS)
                        .toList());
    }
}
