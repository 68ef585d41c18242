package dev.banyan.simulate;

import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * The simulator of a machine by the constants of a profile, and by the ends of the ranges that some of them have. Not
 * safe for use from several threads at once.
 */
public final class RangedCosts {
    /**
     * The times that a prediction could have, as far as constants are not known.
     *
     * @param leastUs in us
     * @param mostUs in us
     */
    public record TimeRange(double leastUs, double mostUs) {}

    private final SimulatedCosts usual;
    private final SimulatedCosts fastest;
    private final SimulatedCosts slowest;

    /**
     * Creates the three simulators of calls on {@linkplain CallBuffers#ALLOCATED allocated} buffers.
     *
     * @param machine of at least two devices
     * @param profile the constants
     * @param execution what executes calls
     */
    public RangedCosts(Machine machine, Profile profile, Execution execution) {
        this(machine, profile, execution, CallBuffers.ALLOCATED);
    }

    /**
     * Creates the three simulators.
     *
     * @param machine of at least two devices
     * @param profile the constants
     * @param execution what executes calls
     * @param buffers those of the calls
     */
    public RangedCosts(Machine machine, Profile profile, Execution execution, CallBuffers buffers) {
        usual = new SimulatedCosts(machine, profile, execution, buffers);
        fastest = new SimulatedCosts(machine, profile.fastest(), execution, buffers);
        slowest = new SimulatedCosts(machine, profile.slowest(), execution, buffers);
    }

    /** Returns the simulator by the constants themselves. */
    public SimulatedCosts usual() {
        return usual;
    }

    /** Returns the times that a call of kernels could have; empty where copies carry it out. */
    public Optional<TimeRange> range(PlannedSchedule planned) {
        return usual.program(planned.schedule(), planned.links())
                .map(layout -> range(costs -> costs.kernelsUs(planned.schedule(), layout, planned.links())));
    }

    /** Returns the times that something could have which is predicted by a simulator. */
    public TimeRange range(ToDoubleFunction<SimulatedCosts> us) {
        return new TimeRange(us.applyAsDouble(fastest), us.applyAsDouble(slowest));
    }

    /** Returns when all kernels of a call have begun, in us. */
    public double launchUs() {
        return launchUs(usual);
    }

    /** Returns the times at which all kernels of a call could have begun. */
    public TimeRange launchRange() {
        return range(RangedCosts::launchUs);
    }

    private static double launchUs(SimulatedCosts by) {
        return by.programSimulator(List.of()).launchUs();
    }
}
