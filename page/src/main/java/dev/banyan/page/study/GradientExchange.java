package dev.banyan.page.study;

import dev.banyan.page.model.StepModel;
import dev.banyan.page.model.StepModel.Exchange;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.Simulator;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Predicts how long it takes to exchange the gradients of a model. */
final class GradientExchange {
    private static final double US_PER_MS = 1e3;

    private final Calls calls;
    private final List<AlgorithmChoice> algorithms;

    GradientExchange(Calls calls, List<AlgorithmChoice> algorithms) {
        this.calls = calls;
        this.algorithms = algorithms;
    }

    StepModel of(Workload gradients) {
        List<Exchange> ways = new ArrayList<>();
        for (int algorithm = 0; algorithm < algorithms.size(); algorithm++) {
            ways.add(exchange(algorithm, gradients.elements()));
        }
        return new StepModel(gradients.name(), gradients.elements(), ways);
    }

    private Exchange exchange(int algorithm, List<Long> elements) {
        Map<Long, PlannedSchedule> bySize = new HashMap<>();
        List<PlannedSchedule> keys = elements.stream()
                .map(size -> bySize.computeIfAbsent(
                        size, key -> calls.plan(calls.choose(algorithms.get(algorithm), key), key)))
                .toList();
        Simulator simulator = calls.costs().simulatorOf(keys);
        Simulation together = simulator.run(Calls.together(keys));
        Map<Long, Double> alone = new HashMap<>();
        double oneByOneUs = 0;
        for (long size : elements) {
            oneByOneUs += alone.computeIfAbsent(size, key -> us(simulator, bySize.get(key)));
        }
        return new Exchange(
                algorithm,
                oneByOneUs / US_PER_MS,
                together.endUs() / US_PER_MS,
                IntStream.range(0, keys.size())
                        .mapToObj(key -> Math.rint(together.endUs(key)) / US_PER_MS)
                        .toList());
    }

    private static double us(Simulator simulator, @Nullable PlannedSchedule planned) {
        return simulator.run(Objects.requireNonNull(planned).schedule()).endUs();
    }
}
