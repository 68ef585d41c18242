package dev.banyan.trees.packing;

import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The share of a collective's data that crosses each arc of a network, and the rate that this share permits. Starts at
 * no load; trees are added one by one. Exact. Not safe for use from several threads at once.
 */
public final class LinkLoads {
    private final Network network;
    private final SortedMap<Long, List<LogicalLink.Path>> planned = new TreeMap<>();
    private final Detours detours;
    private final BigFraction[] loads;

    /** For trees whose links all take the {@linkplain Detours usual path}. */
    public LinkLoads(Network network) {
        this(network, List.of());
    }

    /**
     * @param links the paths of the pairs that do not take the usual path
     */
    public LinkLoads(Network network, List<LogicalLink> links) {
        this.network = network;
        detours = new Detours(network);
        loads = new BigFraction[network.arcs()];
        Arrays.fill(loads, BigFraction.ZERO);
        for (LogicalLink link : links) {
            planned.put(key(link.from(), link.to()), link.paths());
        }
    }

    /**
     * Adds a reduction up a tree.
     *
     * @param share share of all data
     * @throws IllegalArgumentException if the network has no path for a link of the tree
     */
    public void addUp(BigFraction share, Tree tree) {
        for (int rank = 0; rank < tree.size(); rank++) {
            if (tree.parent(rank) >= 0) {
                addTransfer(share, rank, tree.parent(rank));
            }
        }
    }

    /** Adds a broadcast down a tree; else as {@link #addUp}. */
    public void addDown(BigFraction share, Tree tree) {
        for (int rank = 0; rank < tree.size(); rank++) {
            if (tree.parent(rank) >= 0) {
                addTransfer(share, tree.parent(rank), rank);
            }
        }
    }

    /**
     * Adds the transfers of trees; else as {@link #addUp}. Exact sums are slow: transfers of trees of equal shares, of
     * which there may be n^2, are counted before they are added.
     */
    public void add(List<PackedTree> trees, Direction direction) {
        int ranks = network.ranks();
        Map<BigFraction, int[]> transfers = new LinkedHashMap<>();
        for (PackedTree tree : trees) {
            int[] counts = transfers.computeIfAbsent(tree.share(), share -> new int[ranks * ranks]);
            for (int rank = 0; rank < ranks; rank++) {
                if (rank != tree.root()) {
                    counts[rank * ranks + tree.up().parent(rank)] += direction.goesUp() ? 1 : 0;
                    counts[tree.down().parent(rank) * ranks + rank] += direction.goesDown() ? 1 : 0;
                }
            }
        }
        transfers.forEach((share, counts) -> {
            for (int pair = 0; pair < counts.length; pair++) {
                if (counts[pair] > 0) {
                    addTransfer(share.multiply(counts[pair]), pair / ranks, pair % ranks);
                }
            }
        });
    }

    /** Adds a transfer of a share of all data from one rank to another; else as {@link #addUp}. */
    public void addTransfer(BigFraction share, int from, int to) {
        for (LogicalLink.Path path : paths(from, to)) {
            BigFraction part = share.multiply(path.share());
            for (int hop = 1; hop < path.nodes().size(); hop++) {
                int arc = arc(path, hop);
                loads[arc] = loads[arc].add(part);
            }
        }
    }

    /** Adds a share of all data that goes from one node to a neighbour. */
    public void addHop(BigFraction share, int from, int to) {
        int arc = network.arc(from, to);
        loads[arc] = loads[arc].add(share);
    }

    private List<LogicalLink.Path> paths(int from, int to) {
        List<LogicalLink.Path> known = planned.get(key(from, to));
        if (known != null) {
            return known;
        }
        List<LogicalLink.Path> usual = usual(from, to);
        planned.put(key(from, to), usual);
        return usual;
    }

    private int arc(LogicalLink.Path path, int hop) {
        int arc = network.arc(path.nodes().get(hop - 1), path.nodes().get(hop));
        if (arc < 0) {
            throw new IllegalArgumentException(
                    "path " + path.nodes() + " takes an arc that " + network.name() + " has not");
        }
        return arc;
    }

    /** Latency in us of the slowest path from one rank to another; else as {@link #addTransfer}. */
    double latencyUs(int from, int to) {
        double greatest = 0;
        for (LogicalLink.Path path : paths(from, to)) {
            double latency = 0;
            for (int hop = 1; hop < path.nodes().size(); hop++) {
                latency += network.latencyUs(arc(path, hop));
            }
            greatest = Math.max(greatest, latency);
        }
        return greatest;
    }

    /** Returns whether there is a path for every transfer between a rank and its parent in the direction. */
    boolean hasPaths(PackedTree tree, Direction direction) {
        for (int rank = 0; rank < network.ranks(); rank++) {
            if (rank != tree.root()
                    && ((direction.goesUp() && !hasPath(rank, tree.up().parent(rank)))
                            || (direction.goesDown() && !hasPath(tree.down().parent(rank), rank)))) {
                return false;
            }
        }
        return true;
    }

    /**
     * The paths of all transfers so far, and of those given, that take other than the direct link between two ranks
     * alone; sorted by (from, to).
     */
    public List<LogicalLink> links() {
        List<LogicalLink> links = new ArrayList<>();
        for (Map.Entry<Long, List<LogicalLink.Path>> link : planned.entrySet()) {
            List<LogicalLink.Path> paths = link.getValue();
            if (paths.size() > 1 || paths.getFirst().nodes().size() > 2) {
                links.add(new LogicalLink(
                        (int) (link.getKey() / network.ranks()), (int) (link.getKey() % network.ranks()), paths));
            }
        }
        return List.copyOf(links);
    }

    private boolean hasPath(int from, int to) {
        return planned.containsKey(key(from, to)) || detours.path(from, to) != null;
    }

    private List<LogicalLink.Path> usual(int from, int to) {
        List<Integer> nodes = detours.path(from, to);
        if (nodes == null) {
            throw new IllegalArgumentException(
                    "no path from rank " + from + " to rank " + to + " in the network of " + network.name());
        }
        return List.of(new LogicalLink.Path(nodes, BigFraction.ONE));
    }

    private long key(int from, int to) {
        return (long) from * network.ranks() + to;
    }

    /** Share of all data that crosses an arc; above 1 where parts cross it more than once. */
    public BigFraction load(int arc) {
        return loads[arc];
    }

    /** Bytes of all data per time in GB/s at which the busiest arc is full; zero without any load. */
    public BigFraction rateGbs() {
        BigFraction slowest = BigFraction.ZERO;
        for (int arc = 0; arc < loads.length; arc++) {
            BigFraction time = loads[arc].divide(network.capacity(arc));
            slowest = time.compareTo(slowest) > 0 ? time : slowest;
        }
        return slowest.signum() == 0 ? slowest : network.unitGbs().divide(slowest);
    }
}
