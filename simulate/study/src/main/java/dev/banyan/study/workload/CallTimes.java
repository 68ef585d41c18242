package dev.banyan.study.workload;

import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.simulate.Simulation;
import dev.banyan.simulate.SimulationListener;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Predicted times of several calls of one communicator, of which so many are issued at once, and the next when all of
 * these have ended.
 *
 * <p>Kernels of one communicator run one after another, as their devices' streams do; of calls in flight, all launches
 * but the first overlap with kernels. Calls that are executed by chunks share the links.
 */
public final class CallTimes {
    private final SimulatedCosts costs;
    private final List<PlannedSchedule> calls;
    /** By plan: the program that it runs as, if it does. */
    private final IdentityHashMap<PlannedSchedule, Optional<ProgramLayout>> programs = new IdentityHashMap<>();

    private final IdentityHashMap<PlannedSchedule, Double> kernelUs = new IdentityHashMap<>();

    /** @param calls at least one, in their order; the time of a plan that occurs several times is predicted once */
    public CallTimes(SimulatedCosts costs, List<PlannedSchedule> calls) {
        this.costs = costs;
        this.calls = List.copyOf(calls);
    }

    /**
     * Returns when each call ends, in us.
     *
     * @param depth calls in flight, at least 1
     */
    public double[] endsUs(int depth) {
        if (!areKernels()) {
            Simulation simulation = costs.simulatorOf(calls).run(jobs(depth));
            return IntStream.range(0, calls.size())
                    .mapToDouble(simulation::endUs)
                    .toArray();
        }
        double launchUs = costs.programSimulator(List.of()).launchUs();
        double[] ends = new double[calls.size()];
        double us = 0;
        for (int call = 0; call < ends.length; call++) {
            us += us(calls.get(call)) - (call % depth == 0 ? 0 : launchUs);
            ends[call] = us;
        }
        return ends;
    }

    /**
     * Returns when the last call ends, in us.
     *
     * @param depth calls in flight, at least 1
     */
    public double endUs(int depth) {
        return Arrays.stream(endsUs(depth)).max().orElseThrow();
    }

    /** Returns when the last call ends, in us, if each runs on the devices behind the one before. */
    double rowUs() {
        return endUs(areKernels() ? calls.size() : 1);
    }

    /**
     * Simulates all calls and reports what they do.
     *
     * @param depth calls in flight, at least 1
     * @return the end of the last call in us
     */
    public double record(int depth, SimulationListener listener) {
        if (!areKernels()) {
            return costs.simulatorOf(calls).run(jobs(depth), listener).endUs();
        }
        double launchUs = costs.programSimulator(List.of()).launchUs();
        double us = 0;
        for (int call = 0; call < calls.size(); call++) {
            PlannedSchedule planned = calls.get(call);
            us -= call % depth == 0 ? 0 : launchUs;
            us += costs.programSimulator(planned.links())
                    .run(program(planned).orElseThrow(), new Later(listener, call, us))
                    .endUs();
        }
        return us;
    }

    /** Returns whether each call runs as one kernel on each device. */
    public boolean areKernels() {
        return calls.stream().allMatch(call -> program(call).isPresent());
    }

    private Optional<ProgramLayout> program(PlannedSchedule call) {
        return programs.computeIfAbsent(call, planned -> costs.program(planned.schedule(), planned.links()));
    }

    private double us(PlannedSchedule call) {
        return kernelUs.computeIfAbsent(call, planned -> costs.predictedUs(planned.schedule(), planned.links()));
    }

    private List<Job> jobs(int depth) {
        List<Job> jobs = new ArrayList<>();
        for (int call = 0; call < calls.size(); call++) {
            int first = call / depth * depth;
            jobs.add(new Job(
                    calls.get(call).schedule(),
                    0,
                    IntStream.range(Math.max(0, first - depth), first).boxed().toList()));
        }
        return jobs;
    }

    /** Receives one call of several, which begins later. */
    private record Later(SimulationListener listener, int job, double afterUs) implements SimulationListener {
        @Override
        public void transferred(Transfer transfer) {
            listener.transferred(new Transfer(
                    job,
                    transfer.chunk(),
                    transfer.step(),
                    transfer.from(),
                    transfer.to(),
                    transfer.arcs(),
                    transfer.bytes(),
                    transfer.startUs() + afterUs,
                    transfer.endUs() + afterUs,
                    transfer.arrivalUs() + afterUs));
        }

        @Override
        public void reduced(Reduction reduction) {
            listener.reduced(new Reduction(
                    job,
                    reduction.chunk(),
                    reduction.step(),
                    reduction.rank(),
                    reduction.bytes(),
                    reduction.startUs() + afterUs,
                    reduction.endUs() + afterUs));
        }
    }
}
