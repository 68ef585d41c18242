package dev.banyan.trees.bound;

import dev.banyan.trees.internal.MaxFlow;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The greatest rate of a broadcast from a root, or of a reduction to it: the least, over the other ranks, of
 * the greatest flow between the root and that rank. All data must cross every cut between the two.
 *
 * <p>One flow per rank, each stopped at the best cut so far. On direct networks, and with forwarders into
 * which as much leads as out of them, trees reach the bound: J. Edmonds, "Edge-disjoint branchings", in
 * Combinatorial Algorithms, Algorithmics Press 1973, and J. Bang-Jensen, A. Frank, B. Jackson, "Preserving
 * and increasing local edge-connectivity in mixed graphs", SIAM J. Discrete Math. 8(2), 1995.
 *
 * <p>Its certificate is a set of nodes with the root and without some rank: for a broadcast, the arcs out of
 * it together are as wide as the bound; for a reduction, the arcs into it.
 */
public final class RootBound {
    private RootBound() {}

    /**
     * The bound of a broadcast.
     *
     * @param root rank that has the data
     * @throws IllegalArgumentException if the root is no rank of the network
     */
    public static Bound broadcast(Network network, int root) {
        return of(network, root, false);
    }

    /** The bound of a reduction to a root; else as {@link #broadcast}. */
    public static Bound reduce(Network network, int root) {
        return of(network.reversed(), root, true);
    }

    private static Bound of(Network down, int root, boolean entering) {
        if (root < 0 || root >= down.ranks()) {
            throw new IllegalArgumentException(
                    "root " + root + " is no rank of " + down.name() + "; its ranks are 0.." + (down.ranks() - 1));
        }
        MaxFlow flow = MaxFlow.of(down);
        long least = Long.MAX_VALUE;
        boolean[] side = new boolean[0];
        for (int rank = 0; rank < down.ranks(); rank++) {
            if (rank != root) {
                long amount = flow.run(root, rank, least);
                if (amount < least) {
                    least = amount;
                    side = flow.sourceSide();
                }
            }
        }
        return new Bound(down.unitGbs().multiply(BigFraction.of(least)), cut(down, side, entering));
    }

    /** A set of nodes of a network as a certificate; further entries are left out. */
    static Certificate.Cut cut(Network network, boolean[] side, boolean entering) {
        List<Integer> nodes = new ArrayList<>();
        for (int node = 0; node < network.nodes(); node++) {
            if (side[node]) {
                nodes.add(node);
            }
        }
        return new Certificate.Cut(nodes, entering);
    }
}
