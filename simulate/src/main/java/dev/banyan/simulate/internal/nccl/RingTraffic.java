package dev.banyan.simulate.internal.nccl;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.ring.RingSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The traffic of a collective over rings, each used both ways with half of its share, or over chains: what crosses each
 * link. All hops send at once and all of the time, so the link that is busiest decides the rate, or the device that
 * sends and receives most through the host's memory.
 */
public final class RingTraffic {
    private final Network network;
    private final Detours detours;
    private final double[] load;
    /** By rank: what it sends through the host's memory, and what it receives. */
    private final double[] sent;

    private final double[] received;

    /** The pairs of ranks whose data cross each arc; those of a pair follow one another. */
    private final List<Set<List<Integer>>> pairs;

    private RingTraffic(Network network) {
        this.network = network;
        detours = new Detours(network);
        load = new double[network.arcs()];
        sent = new double[network.ranks()];
        received = new double[network.ranks()];
        pairs = Stream.<Set<List<Integer>>>generate(HashSet::new)
                .limit(network.arcs())
                .toList();
    }

    /**
     * Returns the traffic of a collective; O(n) for each ring.
     *
     * @param root where the collective has one
     */
    static RingTraffic of(RingSet rings, Collective collective, int root) {
        RingTraffic traffic = new RingTraffic(rings.network());
        for (RingSet.Ring ring : rings.rings()) {
            double share = ring.share().doubleValue() / 2;
            for (List<Integer> order : List.of(ring.order(), ring.order().reversed())) {
                traffic.add(order, share, collective, root);
            }
        }
        return traffic;
    }

    /**
     * Returns the traffic of an allreduce around rings in equal shares; O(n) for each.
     *
     * @param orders ranks in the order of each ring, which data go around one way
     */
    public static RingTraffic ofRings(Network network, List<List<Integer>> orders) {
        RingTraffic traffic = new RingTraffic(network);
        orders.forEach(order -> traffic.add(order, 1.0 / orders.size(), Collective.ALL_REDUCE, 0));
        return traffic;
    }

    /**
     * Returns the traffic of an allreduce up and down chains with equal shares; O(n) for each.
     *
     * @param chains ranks of each chain
     */
    public static RingTraffic ofChains(Network network, List<List<Integer>> chains) {
        RingTraffic traffic = new RingTraffic(network);
        double share = 1.0 / chains.size();
        for (List<Integer> chain : chains) {
            for (int hop = 1; hop < chain.size(); hop++) {
                traffic.add(chain.get(hop), chain.get(hop - 1), share);
                traffic.add(chain.get(hop - 1), chain.get(hop), share);
            }
        }
        return traffic;
    }

    /** A ring's hops carry equal parts of the data, those of a chain from or to a root all of them. */
    private void add(List<Integer> order, double share, Collective collective, int root) {
        int n = order.size();
        int first = collective.hasRoot() ? order.indexOf(root) : 0;
        for (int hop = 0; hop < (collective.hasRoot() ? n - 1 : n); hop++) {
            int near = order.get((first + hop) % n);
            int far = order.get((first + hop + 1) % n);
            boolean isUp = collective == Collective.REDUCE;
            add(isUp ? far : near, isUp ? near : far, share * collective.busFactor(n));
        }
    }

    private void add(int from, int to, double share) {
        List<Integer> nodes = detours.path(from, to);
        if (nodes == null) {
            throw new IllegalArgumentException("no path joins ranks " + from + " and " + to + " of " + network.name());
        }
        for (int hop = 1; hop < nodes.size(); hop++) {
            int arc = network.arc(nodes.get(hop - 1), nodes.get(hop));
            load[arc] += share;
            pairs.get(arc).add(List.of(from, to));
        }
        if (!network.grantsPeerAccess(from, to)) {
            sent[from] += share;
            received[to] += share;
        }
    }

    /** Returns the time that the links alone need for each byte of a call, in us. */
    double linkUsPerByte(Profile profile) {
        return busiest(arc -> usPerByte(arc, profile));
    }

    /** Returns the time that each byte of a call takes where links carry all that the profile says of copies, in us. */
    public double usPerByte(Profile profile) {
        double duplex = profile.get(Constant.HOST_DUPLEX);
        double links = busiest(arc -> usPerByte(arc, profile) / (isUsedBothWays(arc) ? duplex : 1));
        double host = IntStream.range(0, sent.length)
                .mapToDouble(rank -> (sent[rank] + received[rank]) / (2 * duplex * slotGbs(rank, profile) * 1e3))
                .max()
                .orElseThrow();
        return Math.max(links, host);
    }

    private double busiest(IntToDoubleFunction usOfArc) {
        return IntStream.range(0, load.length)
                .filter(arc -> load[arc] > 0)
                .mapToDouble(usOfArc)
                .max()
                .orElseThrow();
    }

    /** Returns whether an arc to the host's memory is shared by devices that send and receive through it. */
    private boolean isUsedBothWays(int arc) {
        return network.isSharedWayToHost(arc)
                && pairs.get(arc).stream().flatMap(List::stream).anyMatch(rank -> sent[rank] > 0 && received[rank] > 0);
    }

    private double usPerByte(int arc, Profile profile) {
        return load[arc]
                * (1 + profile.queueing(network.kind(arc)) * (pairs.get(arc).size() - 1))
                / gbs(arc, profile)
                / 1e3;
    }

    /** Returns what the widest arc from a rank that is no NVLink carries; infinity where there is none. */
    private double slotGbs(int rank, Profile profile) {
        return IntStream.range(network.firstOut(rank), network.firstOut(rank + 1))
                .filter(arc -> !network.kind(arc).isNvLinkClass())
                .mapToDouble(arc -> gbs(arc, profile))
                .max()
                .orElse(Double.POSITIVE_INFINITY);
    }

    private double gbs(int arc, Profile profile) {
        return network.gbs(arc) * profile.efficiency(network.kind(arc));
    }
}
