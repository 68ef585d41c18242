package dev.banyan.trees.network;

import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Chooses the links of a group and turns them into arcs; used once. It is written with loops, since the first plan of a
 * process waits for it, and the first use of each lambda takes about a millisecond.
 */
final class NetworkBuilder {
    /** Resolution in GB/s where no link is wider than {@link #WIDEST}. */
    private static final double RESOLUTION = 1e-6;
    /** In resolutions; links enough for any machine stay below 2^53 together. */
    private static final double WIDEST = 1e12;

    private final Machine machine;
    private final int[] group;
    private final HostWays hostWays;
    /** Part of each machine node: its index among the ranks, RELAY, HUB or UNUSED. */
    private final int[] part;

    private static final int RELAY = -1;
    private static final int HUB = -2;
    private static final int UNUSED = -3;

    /** One way between two machine nodes; the host's memory is node {@code machine.nodeCount()}, twins follow. */
    private record Way(int from, int to, double gbs, double latencyUs, Link.Kind kind) {}

    NetworkBuilder(Machine machine, int[] group, int[] relays) {
        this.machine = machine;
        this.group = group.clone();
        hostWays = new HostWays(machine, machine.nodeCount() + 1);
        part = new int[machine.nodeCount() + 1 + hostWays.hubs().size()];
        Arrays.fill(part, 0, machine.size(), UNUSED);
        Arrays.fill(part, machine.size(), part.length, HUB);
        if (group.length < 2) {
            throw new IllegalArgumentException(
                    "a network needs at least two devices; the group of " + machine.name() + " has " + group.length);
        }
        for (int rank = 0; rank < group.length; rank++) {
            use(group[rank], rank, "device ");
        }
        for (int relay : relays) {
            use(relay, RELAY, "relay ");
        }
    }

    private void use(int device, int as, String what) {
        if (device < 0 || device >= machine.size()) {
            throw new IllegalArgumentException(
                    "no " + what + device + " in " + machine.name() + "; its devices are 0.." + (machine.size() - 1));
        }
        if (part[device] != UNUSED) {
            throw new IllegalArgumentException(what + device + " is named twice; name each device once, as one that"
                    + " takes part or as a relay");
        }
        part[device] = as;
    }

    Network build() {
        List<Way> ways = ways(false);
        List<Way> kept = ways(true);
        double others = mostOverHostLinks();
        List<Way> fast = new ArrayList<>();
        for (Way way : kept) {
            if (way.gbs() >= others && way.kind().isNvLinkClass()) {
                fast.add(way);
            }
        }
        if (joinsAllRanks(fast)) {
            List<Way> useful = usefulOf(kept);
            return network(useful, true, usefulOf(ways).size() > useful.size(), List.of());
        }
        return ofAll(ways);
    }

    Network buildOfDescribedLinks() {
        return ofAll(ways(false));
    }

    private Network ofAll(List<Way> ways) {
        return joinsAllRanks(ways)
                ? network(usefulOf(ways), false, false, List.of())
                : staged(ways, group, "does not connect all of the devices: each is taken as also");
    }

    /** Returns whether the rule that NVLink suffices leaves such links out. */
    private static boolean isHostLink(Link.Kind kind) {
        return kind == Link.Kind.PCIE || kind == Link.Kind.SOCKET;
    }

    /** In GB/s: over PCIe and between sockets no collective is faster than the rank with the least bandwidth. */
    private double mostOverHostLinks() {
        double[] out = new double[part.length];
        double[] in = new double[part.length];
        for (Link link : machine.links()) {
            if (part[link.a()] != UNUSED && part[link.b()] != UNUSED && isHostLink(link.kind())) {
                out[link.a()] += link.gbsAToB();
                in[link.b()] += link.gbsAToB();
                out[link.b()] += link.gbsBToA();
                in[link.a()] += link.gbsBToA();
            }
        }
        double least = Double.POSITIVE_INFINITY;
        for (int device : group) {
            least = Math.min(least, Math.min(out[device], in[device]));
        }
        return least;
    }

    Network buildOfAllLinks() {
        List<Way> ways = ways(false);
        int[] apart = withoutSomePath(ways);
        return apart.length == 0
                ? network(usefulOf(ways), false, false, List.of())
                : staged(ways, apart, "has no path between some devices: these are taken as");
    }

    private Network staged(List<Way> ways, int[] devices, String why) {
        int host = machine.nodeCount();
        for (int device : devices) {
            ways.add(new Way(device, host, LinkMatrix.HOST_STAGED_GBS, 0, Link.Kind.PCIE));
            ways.add(new Way(host, device, LinkMatrix.HOST_STAGED_GBS, 0, Link.Kind.PCIE));
        }
        String warning = "the description of " + machine.name() + " " + why + " staged through the host's memory at "
                + LinkMatrix.HOST_STAGED_GBS + " GB/s";
        return network(usefulOf(ways), false, false, List.of(warning));
    }

    /** Devices of the group that have, from or to another, no path through forwarders alone. */
    private int[] withoutSomePath(List<Way> ways) {
        List<List<Integer>> next = neighbours(ways, false);
        boolean[] apart = new boolean[part.length];
        for (int device : group) {
            boolean[] reached = reached(device, next, false);
            for (int other : group) {
                if (!reached[other]) {
                    apart[device] = true;
                    apart[other] = true;
                }
            }
        }
        return Arrays.stream(group).filter(device -> apart[device]).toArray();
    }

    private List<Way> ways(boolean withoutHostLinks) {
        List<Way> ways = new ArrayList<>();
        for (Link link : machine.links()) {
            if (part[link.a()] != UNUSED
                    && part[link.b()] != UNUSED
                    && !(withoutHostLinks && isHostLink(link.kind()))) {
                ways.add(way(link, link.a(), link.b(), link.gbsAToB()));
                ways.add(way(link, link.b(), link.a(), link.gbsBToA()));
            }
        }
        double resolution = resolution(ways);
        List<Way> kept = new ArrayList<>();
        for (Way way : ways) {
            if (Math.round(way.gbs() / resolution) > 0) {
                kept.add(way);
            }
        }
        return kept;
    }

    private Way way(Link link, int from, int to, double gbs) {
        return new Way(hostWays.from(from, to), hostWays.to(from, to), gbs, link.latencyUs(), link.kind());
    }

    private static double resolution(List<Way> ways) {
        double widest = 0;
        for (Way way : ways) {
            widest = Math.max(widest, way.gbs());
        }
        return Math.max(RESOLUTION, widest / WIDEST);
    }

    private boolean joinsAllRanks(List<Way> ways) {
        return reachesAllRanks(ways, false) && reachesAllRanks(ways, true);
    }

    private boolean reachesAllRanks(List<Way> ways, boolean backwards) {
        boolean[] reached = reached(group[0], neighbours(ways, backwards), true);
        for (int device : group) {
            if (!reached[device]) {
                return false;
            }
        }
        return true;
    }

    private List<List<Integer>> neighbours(List<Way> ways, boolean backwards) {
        List<List<Integer>> next = new ArrayList<>();
        for (int node = 0; node < part.length; node++) {
            next.add(new ArrayList<>());
        }
        for (Way way : ways) {
            next.get(backwards ? way.to() : way.from()).add(backwards ? way.from() : way.to());
        }
        return next;
    }

    private boolean[] reached(int start, List<List<Integer>> next, boolean throughRanks) {
        boolean[] reached = new boolean[part.length];
        int[] queue = new int[part.length];
        int tail = 1;
        queue[0] = start;
        reached[start] = true;
        for (int head = 0; head < tail; head++) {
            if (head > 0 && part[queue[head]] >= 0 && !throughRanks) {
                continue;
            }
            for (int node : next.get(queue[head])) {
                if (!reached[node]) {
                    reached[node] = true;
                    queue[tail++] = node;
                }
            }
        }
        return reached;
    }

    /** Without forwarders that data can't enter from one node and leave to another. */
    private List<Way> usefulOf(List<Way> ways) {
        List<Way> kept = ways;
        boolean changed = true;
        while (changed) {
            int[] neighbour = new int[part.length];
            boolean[] passes = new boolean[part.length];
            Arrays.fill(neighbour, -1);
            for (Way way : kept) {
                note(way.from(), way.to(), neighbour, passes);
                note(way.to(), way.from(), neighbour, passes);
            }
            List<Way> next = new ArrayList<>();
            for (Way way : kept) {
                if ((part[way.from()] >= 0 || passes[way.from()]) && (part[way.to()] >= 0 || passes[way.to()])) {
                    next.add(way);
                }
            }
            changed = next.size() < kept.size();
            kept = next;
        }
        return kept;
    }

    private static void note(int node, int other, int[] neighbour, boolean[] passes) {
        passes[node] |= neighbour[node] >= 0 && neighbour[node] != other;
        neighbour[node] = other;
    }

    private Network network(List<Way> ways, boolean joinedByNvlink, boolean leavesOutLinks, List<String> warnings) {
        int[] index = new int[part.length];
        List<Network.Node> nodes = nodes(ways, index);
        double resolution = resolution(ways);
        SortedMap<Long, Network.Arc> merged = new TreeMap<>();
        for (Way way : ways) {
            int from = index[way.from()];
            int to = index[way.to()];
            Network.Arc arc =
                    new Network.Arc(from, to, Math.round(way.gbs() / resolution), way.latencyUs(), way.kind());
            long place = (long) from * nodes.size() + to;
            Network.Arc other = merged.get(place);
            merged.put(place, other == null ? arc : together(other, arc));
        }
        BigInteger divisor = BigInteger.ZERO;
        for (Network.Arc arc : merged.values()) {
            divisor = divisor.gcd(BigInteger.valueOf(arc.capacity()));
        }
        long unit = divisor.longValueExact();
        List<Network.Arc> arcs = new ArrayList<>();
        for (Network.Arc arc : merged.values()) {
            arcs.add(new Network.Arc(arc.from(), arc.to(), arc.capacity() / unit, arc.latencyUs(), arc.kind()));
        }
        return new Network(
                machine.name(),
                group.length,
                nodes.toArray(Network.Node[]::new),
                arcs,
                exact(resolution).multiply(unit),
                new Network.Traits(joinedByNvlink, leavesOutLinks, switchesReduce(nodes), withoutPeerAccess()),
                warnings);
    }

    private Network.Kind kindOfHub(int node) {
        return machine.node(node) instanceof Hub hub && hub.kind() == Hub.Kind.CPU_SOCKET
                ? Network.Kind.SOCKET
                : Network.Kind.HUB;
    }

    private BitSet withoutPeerAccess() {
        BitSet pairs = new BitSet();
        for (int marked = 0; marked < group.length; marked++) {
            if (machine.devices().get(group[marked]).attributes().containsKey(NoPeerAccess.ATTRIBUTE)) {
                for (int other = 0; other < group.length; other++) {
                    if (NoPeerAccess.between(machine, group[marked], group[other])) {
                        pairs.set(marked * group.length + other);
                        pairs.set(other * group.length + marked);
                    }
                }
            }
        }
        return pairs;
    }

    private boolean switchesReduce(List<Network.Node> nodes) {
        for (Network.Node node : nodes) {
            if (node.kind() == Network.Kind.HUB
                    && machine.node(node.machineNode()) instanceof Hub hub
                    && hub.reduces()) {
                return true;
            }
        }
        return false;
    }

    /**
     * The ranks, then the forwarders that have a link.
     *
     * @param index becomes, by machine node, the index of its node here, -1 for none
     */
    private List<Network.Node> nodes(List<Way> ways, int[] index) {
        Arrays.fill(index, -1);
        List<Network.Node> nodes = new ArrayList<>();
        for (int device : group) {
            index[device] = nodes.size();
            nodes.add(new Network.Node(device, machine.node(device).name(), Network.Kind.RANK));
        }
        boolean[] used = new boolean[part.length];
        for (Way way : ways) {
            used[way.from()] = true;
            used[way.to()] = true;
        }
        for (int node = 0; node < part.length; node++) {
            if (used[node] && part[node] < 0) {
                index[node] = nodes.size();
                nodes.add(forwarder(node));
            }
        }
        return nodes;
    }

    private Network.Node forwarder(int node) {
        if (node < machine.nodeCount()) {
            return new Network.Node(
                    node, machine.node(node).name(), part[node] == RELAY ? Network.Kind.RELAY : kindOfHub(node));
        }
        if (node == machine.nodeCount()) {
            return new Network.Node(-1, "host memory", Network.Kind.HOST);
        }
        int hub = hostWays.hubs().get(node - machine.nodeCount() - 1);
        return new Network.Node(hub, machine.node(hub).name() + " down", kindOfHub(hub));
    }

    /**
     * The decimal fraction that a number is written as. Reads the text itself, since the first use of BigDecimal takes
     * tens of milliseconds.
     *
     * @param number finite
     */
    private static BigFraction exact(double number) {
        String text = Double.toString(number);
        int end = text.indexOf('E');
        int exponent = end < 0 ? 0 : Integer.parseInt(text.substring(end + 1));
        String digits = end < 0 ? text : text.substring(0, end);
        int point = digits.indexOf('.');
        int scale = digits.length() - point - 1 - exponent;
        BigInteger unscaled = new BigInteger(digits.substring(0, point) + digits.substring(point + 1));
        BigInteger power = BigInteger.TEN.pow(Math.abs(scale));
        return scale >= 0 ? BigFraction.of(unscaled, power) : BigFraction.of(unscaled.multiply(power));
    }

    private static Network.Arc together(Network.Arc a, Network.Arc b) {
        return new Network.Arc(
                a.from(),
                a.to(),
                a.capacity() + b.capacity(),
                Math.min(a.latencyUs(), b.latencyUs()),
                b.capacity() > a.capacity() ? b.kind() : a.kind());
    }
}
