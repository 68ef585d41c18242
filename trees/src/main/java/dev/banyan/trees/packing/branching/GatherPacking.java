package dev.banyan.trees.packing.branching;

import dev.banyan.trees.bound.GatherBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;

/**
 * Trees for an allgather, or a reduce-scatter, at the {@linkplain GatherBound bound}: each rank is the root
 * of trees that carry its block, and the shares of its trees sum to 1/n.
 *
 * <p>Through one switch that is one star per root. In general trees are found, chosen and limited in number
 * as by {@link RootedPacking}; with one more tree per root where one is not enough. Same network, same trees.
 * Safe for use from any thread.
 */
public final class GatherPacking {
    private GatherPacking() {}

    /**
     * Trees that carry an allgather; each rank's block goes down the trees of which it is the root.
     *
     * @param maxTreesPerRoot most trees of one root, at least 1
     * @throws IllegalArgumentException if no tree is allowed
     */
    public static TreePacking allGather(Network network, int maxTreesPerRoot) {
        return SpreadPacking.of(network, Spread.ofAll(network), maxTreesPerRoot);
    }

    /**
     * Trees that carry a reduce-scatter; each rank's block goes up the trees of which it is the root. Else as
     * {@link #allGather}.
     */
    public static TreePacking reduceScatter(Network network, int maxTreesPerRoot) {
        return SpreadPacking.opposite(
                network, Spread.ofAll(network), maxTreesPerRoot, GatherBound.reduceScatter(network));
    }
}
