package dev.banyan.trees.packing.branching;

import dev.banyan.trees.bound.RootBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.util.List;

/**
 * Trees for a broadcast from a root, or a reduction to it, at the {@linkplain RootBound bound}.
 *
 * <p>Forwarders are replaced by arcs between ranks ({@code EdgeSplitting}: Bang-Jensen, Frank, Jackson 1995),
 * then out-trees are packed (Edmonds 1973), in several ways within a bounded amount of work; those with the
 * least product of the number of trees and the square of their depth are taken. The rate is exactly the bound
 * if as much leads into every forwarder as out of it, as in all machines with full-duplex links. Where it does
 * not, the bound may be out of reach, and the rate is that of the trees found.
 *
 * <p>With fewer trees than that takes, the best found is returned with its true rate; one tree is the widest
 * there is on networks without forwarders. More trees allowed never make it slower.
 *
 * <p>O(n d) maximum flows for d distinct trees over n ranks. Same network, same trees. Safe for use from any
 * thread.
 */
public final class RootedPacking {
    private RootedPacking() {}

    /**
     * Trees that carry a broadcast from the root; data go down them.
     *
     * @param root rank that has the data
     * @param maxTrees most trees wanted, at least 1
     * @throws IllegalArgumentException if the root is no rank of the network, or no tree is allowed
     */
    public static TreePacking broadcast(Network network, int root, int maxTrees) {
        return SpreadPacking.of(network, new Spread(List.of(root)), maxTrees);
    }

    /**
     * Trees that carry a reduction to the root; data go up them. Else as {@link #broadcast}.
     *
     * @param root rank that gets the result
     */
    public static TreePacking reduce(Network network, int root, int maxTrees) {
        return SpreadPacking.opposite(network, new Spread(List.of(root)), maxTrees, RootBound.reduce(network, root));
    }
}
