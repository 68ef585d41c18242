package dev.banyan.study.tune;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.workload.CallTimes;
import dev.banyan.study.workload.Predictions;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Predicts the time of one iteration over the gradients of a model: all keys, all-reduced in place. */
public final class IterationTimes {
    private final Machine machine;
    private final SimulatedCosts costs;
    private final Workload workload;
    private final Variants variants;
    private final Map<AlgorithmChoice, Calls> alone = new EnumMap<>(AlgorithmChoice.class);

    /** All keys' calls, and what predicts them. */
    private record Calls(Predictions predictions, List<PlannedSchedule> calls) {}

    /**
     * One iteration.
     *
     * @param name what carries the calls out
     * @param oneByOneMs each call after the one before, in ms
     * @param togetherMs all calls in flight at once, in ms
     */
    public record Iteration(String name, double oneByOneMs, double togetherMs) {}

    /**
     * An array bound: a single tree up to it, the faster of multi-tree and packing above.
     *
     * @param elements the bound
     * @param oneByOneMs each call after the one before, in ms
     */
    public record Bound(long elements, double oneByOneMs) {}

    public IterationTimes(Machine machine, SimulatedCosts costs, Workload workload, Variants variants) {
        this.variants = variants;
        this.machine = machine;
        this.costs = costs;
        this.workload = workload;
    }

    /** The tuned rules, auto without them, and each algorithm alone. */
    public List<Iteration> ways(SizeRules tuned) {
        List<Iteration> ways = new ArrayList<>();
        ways.add(way(
                "tuned", calls(Config.builder().set(Planner.ALGORITHM, tuned).load())));
        ways.add(way(
                "auto",
                calls(Config.builder()
                        .set(Planner.ALGORITHM, SizeRules.AUTO)
                        .load()
                        .without(List.of(Config.TUNING)))));
        for (AlgorithmChoice algorithm : AlgorithmChoice.scheduled()) {
            ways.add(way(ChoiceText.name(variants.of(algorithm)), calls(algorithm)));
        }
        return ways;
    }

    private Iteration way(String name, Calls all) {
        List<PlannedSchedule> calls = all.calls();
        CallTimes times = new CallTimes(costs, calls);
        return new Iteration(name, times.endUs(1) / 1e3, times.endUs(calls.size()) / 1e3);
    }

    private Calls calls(AlgorithmChoice algorithm) {
        return alone.computeIfAbsent(algorithm, choice -> calls(Predictions.of(machine, variants.of(choice), costs)));
    }

    private Calls calls(Config config) {
        return calls(new Predictions(machine, config, costs));
    }

    private Calls calls(Predictions predictions) {
        return new Calls(predictions, predictions.plan(workload));
    }

    /** The bound of the least time, the smallest of equals. */
    public Bound bestBound() {
        double[] single = us(AlgorithmChoice.SINGLE_TREE);
        double[] multi = us(AlgorithmChoice.MULTI_TREE);
        double[] packing = us(AlgorithmChoice.PACKING);
        TreeSet<Long> bounds = new TreeSet<>(workload.elements());
        bounds.add(0L);
        Bound best = new Bound(0, Double.POSITIVE_INFINITY);
        for (long bound : bounds) {
            double us = 0;
            for (int key = 0; key < single.length; key++) {
                us += workload.elements().get(key) <= bound ? single[key] : Math.min(multi[key], packing[key]);
            }
            if (us / 1e3 < best.oneByOneMs()) {
                best = new Bound(bound, us / 1e3);
            }
        }
        return best;
    }

    private double[] us(AlgorithmChoice algorithm) {
        Calls all = calls(algorithm);
        return all.calls().stream().mapToDouble(all.predictions()::us).toArray();
    }
}
