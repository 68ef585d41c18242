package dev.banyan.simulate;

import dev.banyan.config.internal.RecentlyUsed;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.program.ProgramLayout;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.CostModel;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.IntStream;

/**
 * The costs of schedules on all links of a machine by simulation. Safe for use from any thread. The simulators
 * of the last lists of links are kept.
 */
public final class SimulatedCosts implements CostModel {
    /** As many ranks' buffers are parameters of a kernel. */
    public static final int MOST_RANKS_OF_PROGRAMS = 16;

    /** Greatest number of simulators of a kind that are kept; a sweep over all algorithms asks for fewer. */
    private static final int MOST_SIMULATORS = 64;

    private final Network network;
    private final Profile profile;
    private final Machine machine;
    private final Execution execution;
    private final CallBuffers buffers;
    private final RecentlyUsed<List<LogicalLink>, Simulator> simulators = new RecentlyUsed<>(MOST_SIMULATORS);
    private final RecentlyUsed<List<LogicalLink>, ProgramSimulator> programSimulators =
            new RecentlyUsed<>(MOST_SIMULATORS);

    /**
     * Creates a model of execution by {@linkplain Execution#CHUNKS chunks}.
     *
     * @param machine of at least two devices
     * @param profile the constants
     */
    public SimulatedCosts(Machine machine, Profile profile) {
        this(machine, profile, Execution.CHUNKS);
    }

    /**
     * Creates a model of calls on {@linkplain CallBuffers#ALLOCATED allocated} buffers.
     *
     * @param machine of at least two devices
     * @param profile the constants
     * @param execution what executes schedules
     */
    public SimulatedCosts(Machine machine, Profile profile, Execution execution) {
        this(machine, profile, execution, CallBuffers.ALLOCATED);
    }

    /**
     * Creates a model.
     *
     * @param machine of at least two devices
     * @param profile the constants
     * @param execution what executes schedules
     * @param buffers those of the calls
     */
    public SimulatedCosts(Machine machine, Profile profile, Execution execution, CallBuffers buffers) {
        this.machine = machine;
        this.execution = Objects.requireNonNull(execution, "execution");
        this.buffers = Objects.requireNonNull(buffers, "buffers");
        network = Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
        this.profile = Objects.requireNonNull(profile, "profile");
    }

    /** All links of the machine. */
    public Network network() {
        return network;
    }

    /** Returns the platform that is simulated. */
    public Platform platform() {
        return Platform.simulated(execution);
    }

    /** The constants. */
    public Profile profile() {
        return profile;
    }

    /**
     * The simulator that prices schedules.
     *
     * @param links the paths of pairs that don't go the usual way
     */
    public Simulator simulator(List<LogicalLink> links) {
        synchronized (simulators) {
            return simulators.get(links, () -> new Simulator(network, links, profile));
        }
    }

    /** Returns the simulator of several calls: a pair of ranks takes the paths of the first call that names some. */
    public Simulator simulatorOf(List<PlannedSchedule> calls) {
        Map<List<Integer>, LogicalLink> links = new LinkedHashMap<>();
        for (PlannedSchedule call : calls) {
            call.links().forEach(link -> links.putIfAbsent(List.of(link.from(), link.to()), link));
        }
        return simulator(List.copyOf(links.values()));
    }

    /**
     * The simulator that prices schedules that run as programs.
     *
     * @param links as for {@link #simulator}
     */
    public ProgramSimulator programSimulator(List<LogicalLink> links) {
        synchronized (programSimulators) {
            return programSimulators.get(links, () -> new ProgramSimulator(machine, network, links, profile));
        }
    }

    /**
     * Returns the program that a schedule runs as, or nothing if it is executed by chunks.
     *
     * @param links as for {@link #simulator}
     */
    public Optional<ProgramLayout> program(Schedule schedule, List<LogicalLink> links) {
        if (execution != Execution.PROGRAMS
                || schedule.ranks() > MOST_RANKS_OF_PROGRAMS
                || !programSimulator(links).canRun(schedule)) {
            return Optional.empty();
        }
        try {
            return Optional.of(ProgramLayout.of(schedule, ProgramSizes.DEFAULT));
        } catch (IllegalArgumentException e) {
            // A rank takes part in a lane with more moves than there may be blocks.
            return Optional.empty();
        }
    }

    @Override
    public double predictedUs(Schedule schedule, List<LogicalLink> links) {
        return program(schedule, links)
                .map(layout -> kernelsUs(schedule, layout, links))
                .orElseGet(() -> simulator(links).run(schedule).endUs());
    }

    /** Returns whether kernels exchange buffers in a call: directly those that the communicator has allocated. */
    public boolean exchanges(PlannedSchedule planned) {
        return execution == Execution.PROGRAMS
                && programSimulator(planned.links()).takesExchanges()
                && programSimulator(planned.links())
                        .exchangeUs(planned.schedule(), buffers)
                        .isPresent()
                && program(planned.schedule(), planned.links()).isPresent();
    }

    /** Returns the time of a schedule that runs as a program, or as an exchange where that is what backends take. */
    double kernelsUs(Schedule schedule, ProgramLayout layout, List<LogicalLink> links) {
        ProgramSimulator simulator = programSimulator(links);
        return simulator.exchangeUs(schedule, buffers).orElseGet(() -> simulator.predictedUs(layout));
    }

    /**
     * Returns the time of a reproducible sum in one pass, in us; nothing if GPUs do not carry it out so.
     *
     * @param planned of which each result follows from inputs at once
     */
    public OptionalDouble sumUs(PlannedSchedule planned) {
        return program(planned.schedule(), planned.links()).isPresent()
                ? programSimulator(planned.links()).sumUs(planned.schedule(), buffers)
                : OptionalDouble.empty();
    }

    @Override
    public boolean dependsOnChunks(Schedule schedule, List<LogicalLink> links) {
        return program(schedule, links).isEmpty();
    }

    /**
     * Returns the time of the link that is busy longest, at full efficiency; 0 where a switch adds up or copies, as it
     * takes load off the links.
     */
    @Override
    public double leastUsPerByte(ForestCost cost, Schedule sample) {
        if (execution == Execution.PROGRAMS && programSimulator(List.of()).takesSwitch(sample)) {
            return 0;
        }
        Network links = cost.network();
        return IntStream.range(0, links.arcs())
                .mapToDouble(arc -> cost.loads().get(arc).doubleValue()
                        / (links.gbs(arc) * profile.efficiency(links.kind(arc)) * 1e3))
                .max()
                .orElse(0);
    }

    /** By the profile that fits the machine best. */
    public static final class Provider implements CostModel.Provider {
        /** For the service loader. */
        public Provider() {}

        @Override
        public CostModel on(Machine machine, Execution execution) {
            return new SimulatedCosts(machine, Profiles.of(machine), execution);
        }
    }
}
