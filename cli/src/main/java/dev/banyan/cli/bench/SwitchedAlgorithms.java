package dev.banyan.cli.bench;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.ProgramSimulator;
import dev.banyan.simulate.RangedCosts;
import java.util.ArrayList;
import java.util.List;
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
     * Adds an algorithm if a switch takes one of its calls, and returns whether it does.
     *
     * @param calls plans the calls, if a switch can take any
     */
    boolean add(AlgorithmConfig algorithm, Supplier<List<PlannedSchedule>> calls) {
        boolean taken =
                possible && calls.get().stream().map(PlannedSchedule::schedule).anyMatch(kernels::takesSwitch);
        if (taken) {
            found.add(algorithm);
        }
        return taken;
    }

    /**
     * Adds an algorithm likewise, and returns what the heading of its rows says beside its name. Auto may take other
     * algorithms for smaller calls than for the largest, so that its heading says nothing.
     *
     * @param largest plans the largest call, if a switch can take any
     */
    String heading(AlgorithmConfig algorithm, Supplier<PlannedSchedule> largest) {
        return add(algorithm, () -> List.of(largest.get())) && algorithm.algorithm() != AlgorithmChoice.AUTO
                ? " (in the switch)"
                : "";
    }

    List<AlgorithmConfig> found() {
        return found;
    }
}
