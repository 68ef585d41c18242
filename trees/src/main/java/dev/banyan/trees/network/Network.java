package dev.banyan.trees.network;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The links that a collective may use, as a directed graph with exact capacities.
 *
 * <p>Nodes 0..n-1 are the devices that take part: node r is rank r. Nodes n..n+f-1 are forwarders: hubs of
 * the machine, and relays, which are devices that take no part. A forwarder passes data on; it neither
 * copies nor reduces, nor keeps any. One that joins fewer than two other nodes is left out.
 *
 * <p>Where NVLink-class links (with NVSwitches and relays) join all ranks both ways, and those of at least the
 * bandwidth that every rank has over PCIe and between sockets do so too, the network leaves PCIe and the links between
 * sockets out: no plan over these alone is faster. Else it holds all links. Where even those don't join all ranks,
 * every rank is also linked to
 * one more forwarder, the host's memory, at {@link dev.banyan.topology.LinkMatrix#HOST_STAGED_GBS} each way,
 * with a warning; so there is always a plan.
 *
 * <p>Copies between devices without peer access go through the host's memory. A PCIe switch or host bridge where no two
 * devices meet that have access to each other is therefore two nodes, one on the way up to a CPU socket and one on the
 * way down.
 *
 * <p>Arcs are directed and sorted by (from, to); links between the same two nodes are one arc each way.
 * Capacities are whole multiples of one {@linkplain #unitGbs() unit}: bandwidths are taken to the nearest
 * 1e-6 GB/s (coarser for links above 1e6 GB/s), and the unit is the greatest that divides them all. All
 * capacities together are below 2^53 units.
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class Network {
    private final String name;
    private final int ranks;
    private final Node[] nodes;
    private final int[] from;
    private final int[] to;
    private final long[] capacity;
    private final double[] latencyUs;
    private final Link.Kind[] kind;
    private final int[] reverse;
    private final int[] firstOut;
    private final BigFraction unitGbs;
    private final boolean symmetric;
    private final Traits traits;
    private final List<String> warnings;

    /**
     * A node of the network.
     *
     * @param machineNode node index in the machine, or -1 for the host's memory; two nodes may be one hub, see above
     * @param name what to call it, e.g. {@code GPU3} or the hub's name
     * @param kind its part in a collective
     */
    public record Node(int machineNode, String name, Kind kind) {}

    /** Part of a node in a collective. */
    public enum Kind {
        /** A device that takes part. */
        RANK,
        /** A device that only forwards. */
        RELAY,
        /** A hub of the machine. */
        HUB,
        /** A CPU socket, which has host memory. */
        SOCKET,
        /** Host memory, through which devices without any connection are staged. */
        HOST
    }

    Network(
            String name,
            int ranks,
            Node[] nodes,
            List<Arc> arcs,
            BigFraction unitGbs,
            Traits traits,
            List<String> warnings) {
        this.name = name;
        this.ranks = ranks;
        this.nodes = nodes;
        from = new int[arcs.size()];
        to = new int[arcs.size()];
        capacity = new long[arcs.size()];
        latencyUs = new double[arcs.size()];
        kind = new Link.Kind[arcs.size()];
        for (int arc = 0; arc < kind.length; arc++) {
            Arc given = arcs.get(arc);
            from[arc] = given.from();
            to[arc] = given.to();
            capacity[arc] = given.capacity();
            latencyUs[arc] = given.latencyUs();
            kind[arc] = given.kind();
        }
        this.unitGbs = unitGbs;
        this.traits = traits;
        this.warnings = List.copyOf(warnings);
        firstOut = new int[nodes.length + 1];
        for (int node : from) {
            firstOut[node + 1]++;
        }
        for (int node = 0; node < nodes.length; node++) {
            firstOut[node + 1] += firstOut[node];
        }
        reverse = new int[from.length];
        boolean equalBothWays = true;
        for (int arc = 0; arc < from.length; arc++) {
            reverse[arc] = arc(to[arc], from[arc]);
            equalBothWays &= reverse[arc] >= 0 && capacity[reverse[arc]] == capacity[arc];
        }
        symmetric = equalBothWays;
    }

    /**
     * The properties of its links that follow from the way in which they were chosen.
     *
     * @param joinedByNvlink whether NVLinks join all ranks
     * @param leavesOutLinks whether PCIe or links between sockets that could carry data were left out
     * @param switchesReduce whether some hub can copy and reduce
     * @param withoutPeerAccess the pairs of ranks, {@code from x n + to}, that must not touch each other's memory
     */
    record Traits(boolean joinedByNvlink, boolean leavesOutLinks, boolean switchesReduce, BitSet withoutPeerAccess) {}

    /** One arc, as it is handed in; they come sorted by (from, to). */
    record Arc(int from, int to, long capacity, double latencyUs, Link.Kind kind) {}

    /**
     * The network of all devices of a machine: rank r is device r.
     *
     * @throws IllegalArgumentException if it has fewer than two devices
     */
    public static Network of(Machine machine) {
        int[] group = new int[machine.size()];
        Arrays.setAll(group, device -> device);
        return of(machine, group);
    }

    /**
     * The network of some devices of a machine: rank r is device {@code group[r]}.
     *
     * @param machine the whole machine
     * @param group the devices that take part, each once, at least two
     * @param relays devices that may forward for them; none is in the group
     * @throws IllegalArgumentException if an index is not one of a device or named twice, or the group has
     *     fewer than two
     */
    public static Network of(Machine machine, int[] group, int... relays) {
        return new NetworkBuilder(machine, group, relays).build();
    }

    /**
     * The network of some devices with all links of the machine, of whatever technology: what transfers may
     * use that were planned without regard to it. There is a path between any two ranks: those that have none
     * with some other are linked to the host's memory too, with a warning.
     *
     * @throws IllegalArgumentException as {@link #of(Machine, int[], int...)}
     */
    public static Network ofAllLinks(Machine machine, int... group) {
        return new NetworkBuilder(machine, group, new int[0]).buildOfAllLinks();
    }

    /**
     * As {@link #of(Machine, int[], int...)}, but no link is left out where NVLinks join the ranks: what a bound of all
     * schedules counts.
     *
     * @throws IllegalArgumentException for the same reasons
     */
    public static Network ofDescribedLinks(Machine machine, int[] group, int... relays) {
        return new NetworkBuilder(machine, group, relays).buildOfDescribedLinks();
    }

    /** Returns the machine's name. */
    public String name() {
        return name;
    }

    /** Number of devices that take part, n; at least 2. */
    public int ranks() {
        return ranks;
    }

    /** Number of nodes: ranks, then forwarders. */
    public int nodes() {
        return nodes.length;
    }

    /** Returns a node. */
    public Node node(int node) {
        return nodes[node];
    }

    /** Returns the other node of a hub that is two nodes, and any other node itself. O(nodes). */
    public int twin(int node) {
        for (int other = 0; other < nodes.length; other++) {
            if (other != node && nodes[other].machineNode() == nodes[node].machineNode()) {
                return other;
            }
        }
        return node;
    }

    /** Number of arcs; each has a capacity above 0. */
    public int arcs() {
        return from.length;
    }

    /** Node that an arc leaves. */
    public int from(int arc) {
        return from[arc];
    }

    /** Node that an arc enters. */
    public int to(int arc) {
        return to[arc];
    }

    /** Capacity of an arc in units. */
    public long capacity(int arc) {
        return capacity[arc];
    }

    /** Bandwidth of an arc in GB/s. */
    public double gbs(int arc) {
        return capacity[arc] * unitGbs.doubleValue();
    }

    /** Latency of one hop over an arc in us: that of its quickest link. */
    public double latencyUs(int arc) {
        return latencyUs[arc];
    }

    /** Technology of an arc: that of its widest link; PCIe to and from the host's memory. */
    public Link.Kind kind(int arc) {
        return kind[arc];
    }

    /** Returns whether some arc is of a technology. O(arcs). */
    public boolean has(Link.Kind technology) {
        return Arrays.asList(kind).contains(technology);
    }

    /** Returns whether all arcs are of NVLinks or xGMI. O(arcs). */
    public boolean takesFastLinksAlone() {
        return Arrays.stream(kind).allMatch(Link.Kind::isNvLinkClass);
    }

    /** The arc from one node to another, or -1. O(log of the arcs that leave it). */
    public int arc(int a, int b) {
        int found = Arrays.binarySearch(to, firstOut[a], firstOut[a + 1], b);
        return Math.max(found, -1);
    }

    /** The arc between the same nodes the other way, or -1. */
    public int reverse(int arc) {
        return reverse[arc];
    }

    /** Index of the first arc that leaves a node; its arcs end before {@code firstOut(node + 1)}. */
    public int firstOut(int node) {
        return firstOut[node];
    }

    /** Bandwidth of one unit of capacity in GB/s, exact. */
    public BigFraction unitGbs() {
        return unitGbs;
    }

    /** Returns whether every arc has another of its capacity the other way. */
    public boolean symmetric() {
        return symmetric;
    }

    /** Returns whether no data need go through a forwarder: there is none. */
    public boolean direct() {
        return nodes.length == ranks;
    }

    /** Returns whether NVLink-class links join all ranks, so that neither PCIe nor links between sockets are in it. */
    public boolean joinedByNvlink() {
        return traits.joinedByNvlink;
    }

    /**
     * Returns whether it leaves out links that could carry data: bounds over it are about NVLink alone, and {@link
     * #ofDescribedLinks} may carry more.
     */
    public boolean leavesOutLinks() {
        return traits.leavesOutLinks;
    }

    /** Returns whether some hub of it can copy and reduce data. */
    public boolean switchesReduce() {
        return traits.switchesReduce;
    }

    /** Returns whether an arc joins a socket and a hub from which copies go up to the host's memory and down again. */
    public boolean isSharedWayToHost(int arc) {
        return (isSocket(to[arc]) && twin(from[arc]) != from[arc]) || (isSocket(from[arc]) && twin(to[arc]) != to[arc]);
    }

    private boolean isSocket(int node) {
        return node(node).kind() == Kind.SOCKET;
    }

    /**
     * Returns whether two ranks have access to each other's memory, as far as the machine says: without it, copies
     * between them go through the host's memory.
     */
    public boolean grantsPeerAccess(int a, int b) {
        return !traits.withoutPeerAccess.get(a * ranks + b);
    }

    /** Returns the assumptions beyond the machine's description, one sentence each. */
    public List<String> warnings() {
        return warnings;
    }

    /** The same nodes with every arc turned around: a broadcast over it is a reduction over this one. */
    public Network reversed() {
        List<Arc> turned = IntStream.range(0, arcs())
                .mapToObj(arc -> new Arc(to[arc], from[arc], capacity[arc], latencyUs[arc], kind[arc]))
                .sorted(Comparator.comparingInt(Arc::from).thenComparingInt(Arc::to))
                .toList();
        return new Network(name, ranks, nodes, turned, unitGbs, traits, warnings);
    }

    /**
     * The same nodes with other capacities.
     *
     * @param capacities capacity of each arc in the new unit, at least 0; arcs of 0 are left out
     * @param unit bandwidth of one unit in GB/s
     */
    public Network withCapacities(long[] capacities, BigFraction unit) {
        if (capacities.length != arcs()) {
            throw new IllegalArgumentException(
                    capacities.length + " capacities for the " + arcs() + " arcs of " + name);
        }
        List<Arc> arcs = IntStream.range(0, arcs())
                .filter(arc -> capacities[arc] > 0)
                .mapToObj(arc -> new Arc(from[arc], to[arc], capacities[arc], latencyUs[arc], kind[arc]))
                .toList();
        return new Network(name, ranks, nodes, arcs, unit, traits, warnings);
    }
}
