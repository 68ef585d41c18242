package dev.banyan.study.machine;

import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.pcie.PcieHierarchy;
import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The machine that a command works on.
 *
 * @param whole the machine with all of its devices
 * @param group the wanted devices of the whole machine, in the order of ranks
 * @param machine the machine reduced to the wanted devices: their indices are the ranks
 * @param remark where it comes from, where the user did not say; else null
 */
public record ChosenMachine(
        Machine whole,
        List<Integer> group,
        Machine machine,
        @Nullable String remark) {
    /** Assumptions on PCIe that mean nothing where no PCIe is counted. */
    private static final List<String> OF_PCIE = List.of(PcieHierarchy.HIDDEN, SpeedChoice.FULL_SLOTS);

    public ChosenMachine {
        group = List.copyOf(group);
    }

    public static ChosenMachine whole(Machine machine, @Nullable String remark) {
        List<Integer> all = IntStream.range(0, machine.size()).boxed().toList();
        return new ChosenMachine(machine, all, machine, remark);
    }

    /**
     * The same with other devices.
     *
     * @param devices of the whole machine, in the order of ranks
     * @throws IllegalArgumentException if one is not there or named twice
     */
    public ChosenMachine with(int... devices) {
        return new ChosenMachine(whole, IntStream.of(devices).boxed().toList(), whole.subset(devices), remark);
    }

    /** The wanted devices of the whole machine, in the order of ranks; a new array. */
    public int[] devices() {
        return group.stream().mapToInt(Integer::intValue).toArray();
    }

    /** Returns the connections of its devices. */
    public LinkMatrix links() {
        return LinkMatrix.of(machine);
    }

    /**
     * The links between the wanted devices.
     *
     * @param relays devices of the whole machine that may forward for them
     */
    public Network network(int... relays) {
        return Network.of(whole, devices(), relays);
    }

    /**
     * The same, but with all links of the description where {@link #network} leaves some out.
     *
     * @param relays devices of the whole machine that may forward for them
     */
    public Network describedLinks(int... relays) {
        return Network.ofDescribedLinks(whole, devices(), relays);
    }

    /** The links that some bound counts: those of {@link #network}, and those that it leaves out. */
    Network countedLinks(int... relays) {
        Network network = network(relays);
        return network.leavesOutLinks() ? describedLinks(relays) : network;
    }

    /** All links between the wanted devices, of whatever technology, and a path between any two. */
    public Network allLinks() {
        return Network.ofAllLinks(whole, devices());
    }

    /**
     * Returns the assumptions of the description on which rates between the wanted devices can rest, and bounds over
     * the links that these use.
     */
    public List<String> assumed() {
        if (machine.size() < 2) {
            return machine.assumed();
        }
        Network network = network();
        boolean linksAllPairs = network.direct() && network.arcs() == network.ranks() * (network.ranks() - 1);
        // One switch, or these links, take all that the devices exchange.
        return assumed(network, linksAllPairs || AllReduceBound.isOneSwitch(network) ? network : countedLinks());
    }

    /** Returns the assumptions on which rates and bounds over all links can rest. */
    public List<String> assumedOfAllLinks() {
        return machine.size() < 2 ? machine.assumed() : assumed(network(), countedLinks());
    }

    private List<String> assumed(Network used, Network counted) {
        boolean overPcie = used.has(Link.Kind.PCIE);
        boolean acrossSockets = joinsSockets(counted);
        return machine.assumed().stream()
                .filter(phrase -> overPcie || !phrase.equals(RefusedPairs.GRANTED))
                .filter(phrase -> counted.has(Link.Kind.PCIE) || !OF_PCIE.contains(phrase))
                .filter(phrase -> acrossSockets
                        || (!phrase.contains(SpeedChoice.BETWEEN_SOCKETS) && !phrase.contains(SpeedChoice.INSIDE_CPU)))
                .toList();
    }

    private static boolean joinsSockets(Network network) {
        return IntStream.range(0, network.arcs())
                .anyMatch(arc -> isSocket(network, network.from(arc)) && isSocket(network, network.to(arc)));
    }

    private static boolean isSocket(Network network, int node) {
        return network.node(node).kind() == Network.Kind.SOCKET;
    }

    /** Returns the oddities of the description and the assumptions beyond it. */
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>(machine.warnings());
        warnings.addAll(links().warnings());
        return warnings;
    }
}
