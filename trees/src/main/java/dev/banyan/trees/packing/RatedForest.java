package dev.banyan.trees.packing;

import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Forests that were built without regard to bandwidths, as packings: how fast they are on a network. Safe for use
 * from any thread.
 */
public final class RatedForest {
    private RatedForest() {}

    /**
     * The algbw in GB/s at which a forest carries an allreduce, exact; empty where the network has no path for
     * one of its links. Each transfer takes the {@linkplain Detours usual path}. O(trees n (hops + log n) + n
     * (nodes + arcs)).
     *
     * @throws IllegalArgumentException if the forest has not one device per rank of the network
     */
    public static Optional<BigFraction> rateGbs(Forest forest, Network network) {
        if (forest.size() != network.ranks()) {
            throw new IllegalArgumentException("the forest spans " + forest.size() + " devices, the network of "
                    + network.name() + " has " + network.ranks() + " ranks");
        }
        LinkLoads loads = new LinkLoads(network);
        for (PackedTree tree : PackedTree.of(forest)) {
            if (!loads.hasPathsUp(tree.up()) || !loads.hasPathsDown(tree.down())) {
                return Optional.empty();
            }
            loads.addUp(tree.share(), tree.up());
            loads.addDown(tree.share(), tree.down());
        }
        return Optional.of(loads.rateGbs());
    }

    /**
     * A forest as a packing that carries an allreduce; else as {@link #rateGbs}.
     *
     * @param bound what no schedule can exceed on the network
     */
    public static Optional<TreePacking> of(Forest forest, Network network, Bound bound) {
        return rateGbs(forest, network)
                .map(rate -> new TreePacking(network, PackedTree.of(forest), rate, bound, detours(forest, network)));
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
        List<Integer> path = Objects.requireNonNull(detours.path(from, to), "a path that was there before");
        if (path.size() > 2) {
            links.put(from * n + to, LogicalLink.of(path));
        }
    }
}
