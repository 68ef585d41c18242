package dev.banyan.trees.packing;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Optional;

/**
 * Forests that were built without regard to bandwidths, as packings: how fast they are on a network. Safe for use
 * from any thread.
 */
public final class RatedForest {
    private RatedForest() {}

    /**
     * Returns trees as a packing that carries an allreduce; empty where the network has no path for one of their links.
     * Each transfer takes the {@linkplain Detours usual path}; the rate is exact. O(trees n (hops + log n) + n (nodes +
     * arcs)).
     *
     * @param trees their shares sum to 1
     * @param bound what no schedule can exceed on the network
     * @throws IllegalArgumentException if the trees have not one device per rank of the network
     */
    public static Optional<TreePacking> of(List<PackedTree> trees, Network network, Bound bound) {
        LinkLoads loads = new LinkLoads(network);
        for (PackedTree tree : trees) {
            if (tree.up().size() != network.ranks()) {
                throw new IllegalArgumentException("the trees span " + tree.up().size() + " devices, the network of "
                        + network.name() + " has " + network.ranks() + " ranks");
            }
            if (!loads.hasPaths(tree, Direction.UP_AND_DOWN)) {
                return Optional.empty();
            }
        }
        loads.add(trees, Direction.UP_AND_DOWN);
        return Optional.of(new TreePacking(network, trees, loads.rateGbs(), bound, loads.links()));
    }
}
