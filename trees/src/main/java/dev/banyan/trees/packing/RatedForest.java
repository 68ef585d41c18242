package dev.banyan.trees.packing;

import dev.banyan.trees.Forest;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Optional;
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
        return loads(PackedTree.of(forest), network).map(LinkLoads::rateGbs);
    }

    private static Optional<LinkLoads> loads(List<PackedTree> trees, Network network) {
        LinkLoads loads = new LinkLoads(network);
        for (PackedTree tree : trees) {
            if (tree.up().size() != network.ranks()) {
                throw new IllegalArgumentException(
                        "the forest spans " + tree.up().size() + " devices, the network of " + network.name() + " has "
                                + network.ranks() + " ranks");
            }
            if (!loads.hasPaths(tree, Direction.UP_AND_DOWN)) {
                return Optional.empty();
            }
        }
        loads.add(trees, Direction.UP_AND_DOWN);
        return Optional.of(loads);
    }

    /**
     * Trees as a packing that carries an allreduce; else as {@link #rateGbs}.
     *
     * @param trees their shares sum to 1
     * @param bound what no schedule can exceed on the network
     */
    public static Optional<TreePacking> of(List<PackedTree> trees, Network network, Bound bound) {
        Optional<LinkLoads> loaded = loads(trees, network);
        if (loaded.isEmpty()) {
            return Optional.empty();
        }
        LinkLoads loads = loaded.get();
        return Optional.of(new TreePacking(network, trees, loads.rateGbs(), bound, loads.links()));
    }
}
