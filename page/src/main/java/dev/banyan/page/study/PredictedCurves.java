package dev.banyan.page.study;

import dev.banyan.config.Config;
import dev.banyan.page.model.Curve;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.program.ProgramLayout;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Predicts the time of a call over its size, with the range that comes from constants that nobody measured. */
final class PredictedCurves {
    private static final long LEAST_BYTES = 1 << 10;
    private static final long MOST_BYTES = 1L << 30;
    private static final int FACTOR = 4;

    private final Calls calls;
    private final SimulatedCosts fastest;
    private final SimulatedCosts slowest;

    PredictedCurves(Machine machine, Config config, Profile profile, Execution execution) {
        calls = new Calls(machine, config, new SimulatedCosts(machine, profile, execution));
        fastest = new SimulatedCosts(machine, profile.fastest(), execution);
        slowest = new SimulatedCosts(machine, profile.slowest(), execution);
    }

    Curve of(AlgorithmChoice algorithm) {
        return new Curve(
                algorithm.label(),
                false,
                sizes().stream().map(bytes -> point(algorithm, bytes)).toList());
    }

    /** Returns the sizes of calls in bytes, ascending. */
    static List<Long> sizes() {
        return Stream.iterate(LEAST_BYTES, bytes -> bytes <= MOST_BYTES, bytes -> FACTOR * bytes)
                .toList();
    }

    private Curve.Point point(AlgorithmChoice algorithm, long bytes) {
        long elements = bytes / Calls.ELEMENT_BYTES;
        AlgorithmConfig choice = calls.choose(algorithm, elements);
        double us = calls.predictedUs(choice, elements);
        if (!choice.cuts()) {
            PlannedSchedule planned = calls.plan(choice, elements);
            Optional<ProgramLayout> program = calls.costs().program(planned.schedule(), planned.links());
            if (program.isPresent()) {
                return new Curve.Point(
                        bytes,
                        us,
                        fastest.programSimulator(planned.links()).predictedUs(program.get()),
                        slowest.programSimulator(planned.links()).predictedUs(program.get()),
                        choice.toString());
            }
        }
        return new Curve.Point(bytes, us, null, null, choice.toString());
    }
}
