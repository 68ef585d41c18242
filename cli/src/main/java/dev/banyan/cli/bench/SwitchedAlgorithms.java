package dev.banyan.cli.bench;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.ProgramSimulator;
import dev.banyan.simulate.RangedCosts;
import dev.banyan.study.workload.PredictedExecution;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** The algorithms of a table for which a switch adds up or copies. */
final class SwitchedAlgorithms {
    private final ProgramSimulator kernels;
    /** True if a switch can take a call at all. */
    private final boolean possible;

    private final List<AlgorithmConfig> found = new ArrayList<>();

    /**
     * @param costs predict calls
     * @param execution what executes them; only kernels use a switch
     */
    SwitchedAlgorithms(RangedCosts costs, Execution execution) {
        kernels = costs.usual().programSimulator(List.of());
        possible = execution == Execution.PROGRAMS && kernels.takesSwitch();
    }

    /**
     * Adds an algorithm if a switch takes one of its calls, and returns what its rows then say beside its name. Those
     * of auto say nothing, since it may take other algorithms for smaller calls than for the largest.
     *
     * @param calls plans the calls, if a switch can take any
     */
    Optional<String> remark(AlgorithmConfig algorithm, Supplier<List<PlannedSchedule>> calls) {
        if (!possible || calls.get().stream().map(PlannedSchedule::schedule).noneMatch(this::takesSwitch)) {
            return Optional.empty();
        }
        found.add(algorithm);
        return algorithm.algorithm() == AlgorithmChoice.AUTO ? Optional.empty() : Optional.of("in the switch");
    }

    /**
     * The same for calls of several sizes, which a switch may take from some size on.
     *
     * @param smallest plans the smallest call
     * @param largest plans the largest one
     */
    Optional<String> remark(
            AlgorithmConfig algorithm, Supplier<PlannedSchedule> smallest, Supplier<PlannedSchedule> largest) {
        return remark(algorithm, () -> List.of(largest.get()))
                .map(words -> DirectExchange.isLongEnough(smallest.get().schedule(), ProgramSizes.DEFAULT)
                        ? words
                        : "switch > " + PredictedExecution.LINES);
    }

    private boolean takesSwitch(Schedule schedule) {
        return DirectExchange.isLongEnough(schedule, ProgramSizes.DEFAULT) && kernels.takesSwitch(schedule);
    }

    List<AlgorithmConfig> found() {
        return found;
    }
}
