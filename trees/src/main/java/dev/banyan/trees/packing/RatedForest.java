package dev.banyan.trees.packing;

import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/** Forests that were built without regard to bandwidths, as packings: how fast they are on a network. */
public final class RatedForest {
    private RatedForest() {}

    /**
     * A forest as a packing that carries an allreduce. Each transfer takes the {@linkplain Detours usual path}.
     * O(trees n (hops + log n) + n (nodes + arcs)).
     *
     * @param bound what no schedule can exceed on the network
     * @throws IllegalArgumentException if the forest has not one device per rank of the network, or the network
     *     has no path for one of its links
     */
    public static TreePacking of(Forest forest, Network network, Bound bound) {
        if (forest.size() != network.ranks()) {
            throw new IllegalArgumentException("the forest spans " + forest.size() + " devices, the network of "
                    + network.name() + " has " + network.ranks() + " ranks");
        }
        List<BigFraction> shares = forest.shares().stream().map(BigFraction::from).toList();
        BigFraction sum = shares.stream().reduce(BigFraction.ZERO, BigFraction::add);
        LinkLoads loads = new LinkLoads(network);
        List<PackedTree> trees = new ArrayList<>();
        for (int i = 0; i < shares.size(); i++) {
            PackedTree tree = PackedTree.of(shares.get(i).divide(sum), forest.trees().get(i));
            loads.addUp(tree.share(), tree.up());
            loads.addDown(tree.share(), tree.down());
            trees.add(tree);
        }
        return new TreePacking(network, trees, loads.rateGbs(), bound, detours(forest, network));
    }

    private static List<LogicalLink> detours(Forest forest, Network network) {
        Detours detours = new Detours(network);
        int n = network.ranks();
        SortedMap<Integer, LogicalLink> links = new TreeMap<>();
        for (Tree tree : forest.trees()) {
            for (int[] edge : tree.edges()) {
                add(edge[0], edge[1], detours, n, links);
                add(edge[1], edge[0], detours, n, links);
            }
        }
        return List.copyOf(links.values());
    }

    private static void add(int from, int to, Detours detours, int n, SortedMap<Integer, LogicalLink> links) {
        List<Integer> path = detours.path(from, to);
        if (path != null && path.size() > 2) {
            links.put(from * n + to, new LogicalLink(from, to, List.of(new LogicalLink.Path(path, BigFraction.ONE))));
        }
    }
}
