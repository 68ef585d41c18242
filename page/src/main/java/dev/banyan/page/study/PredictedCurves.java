package dev.banyan.page.study;

import dev.banyan.config.Config;
import dev.banyan.page.model.Curve;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.simulate.RangedCosts.TimeRange;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Sizes;
import dev.banyan.study.workload.PredictedCall;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Optional;

/** Predicts the time of a call over its size, with the range that comes from constants that nobody measured. */
final class PredictedCurves {
    private static final long LEAST_BYTES = 1 << 10;
    private static final long MOST_BYTES = 1L << 30;
    private static final int FACTOR = 4;

    private final Calls calls;
    private final RangedCosts costs;

    PredictedCurves(Machine machine, Config config, Profile profile, Execution execution) {
        costs = new RangedCosts(machine, profile, execution);
        calls = new Calls(machine, config, costs.usual());
    }

    Curve of(AlgorithmConfig algorithm) {
        return new Curve(
                ChoiceText.name(algorithm),
                false,
                sizes().stream().map(bytes -> point(algorithm, bytes)).toList());
    }

    /** Returns the sizes of calls in bytes, ascending. */
    static List<Long> sizes() {
        return Sizes.byFactor(LEAST_BYTES, MOST_BYTES, FACTOR);
    }

    private Curve.Point point(AlgorithmConfig algorithm, long bytes) {
        long elements = bytes / Calls.ELEMENT_BYTES;
        AlgorithmConfig choice = calls.choose(algorithm, elements);
        double us = calls.predictedUs(choice, elements);
        TimeRange range =
                choice.cuts() ? null : costs.range(calls.plan(choice, elements)).orElse(null);
        return point(bytes, new PredictedCall(us, ChoiceText.of(choice), range));
    }

    /** Returns a call as a point of a curve. */
    static Curve.Point point(long bytes, PredictedCall call) {
        Optional<TimeRange> range = Optional.ofNullable(call.range());
        return new Curve.Point(
                bytes,
                call.us(),
                range.map(TimeRange::leastUs).orElse(null),
                range.map(TimeRange::mostUs).orElse(null),
                call.choice());
    }
}
