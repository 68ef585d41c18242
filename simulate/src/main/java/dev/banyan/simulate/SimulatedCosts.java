package dev.banyan.simulate;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.plan.CostModel;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.stream.IntStream;

/**
 * What the simulator says schedules cost on all links of a machine. Safe for use from any thread. Simulators are
 * kept, one for each list of links that it was asked about.
 */
public final class SimulatedCosts implements CostModel {
    private final Network network;
    private final Profile profile;
    private final ConcurrentMap<List<LogicalLink>, Simulator> simulators = new ConcurrentHashMap<>();

    /**
     * @param machine of at least two devices
     * @param profile the constants
     */
    public SimulatedCosts(Machine machine, Profile profile) {
        network = Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
        this.profile = Objects.requireNonNull(profile, "profile");
    }

    /** All links of the machine. */
    public Network network() {
        return network;
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
        return simulators.computeIfAbsent(links, paths -> new Simulator(network, paths, profile));
    }

    @Override
    public double predictedUs(Schedule schedule, List<LogicalLink> links) {
        return simulator(links).run(schedule).endUs();
    }

    /** What the link that is busy longest takes at full efficiency. */
    @Override
    public double leastUsPerByte(ForestCost cost) {
        Network wires = cost.network();
        return IntStream.range(0, wires.arcs())
                .mapToDouble(arc -> cost.loads().get(arc).doubleValue()
                        / (wires.gbs(arc) * profile.efficiency(wires.kind(arc)) * 1e3))
                .max()
                .orElse(0);
    }

    /** By the profile that fits the machine best. */
    public static final class Provider implements CostModel.Provider {
        /** For the service loader. */
        public Provider() {}

        @Override
        public CostModel on(Machine machine) {
            return new SimulatedCosts(machine, Profiles.of(machine));
        }
    }
}
