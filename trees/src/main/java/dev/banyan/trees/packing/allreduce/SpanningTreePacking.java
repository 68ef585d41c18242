package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.internal.DuplexLinks;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * Trees for an allreduce over direct links that are equally wide both ways: spanning trees that fill the
 * links so far that together they reach the {@link AllReduceBound}, tau. With tau = p / q units, capacities
 * are taken q times, and trees of weight p are {@linkplain TreePeel taken} off them; q is at most n - 1,
 * since the critical partition has at most n parts.
 *
 * <p>That is done several times, for different tastes in trees, within a fixed amount of work; the best
 * forest is kept: all of tau first, then few and shallow trees. Each tree is hung up at its centre.
 *
 * <p>A forest takes O(links + n) trees, and each of these a {@link dev.banyan.trees.internal.WeakestPartition}, n
 * flows; in practice there are about n trees. Safe for use from any thread.
 */
final class SpanningTreePacking {
    /** Forests made, one for each taste in turn. */
    private static final int ATTEMPTS = 15;
    /** Work after which no further attempt is made; about a second. */
    private static final long ENOUGH_WORK = 40_000_000;

    /** Each does best on some machines, the first on most large ones. */
    static final List<TreePeel.Taste> TASTES = List.of(
            new TreePeel.Taste(4, 2, 0.3, 1),
            new TreePeel.Taste(2, 2, 0.3, 0.3),
            new TreePeel.Taste(4, 2, 0.1, 0.3),
            new TreePeel.Taste(4, 2, 3, 1),
            new TreePeel.Taste(2, 8, 1, 0.3));

    private final Network network;
    private final DuplexLinks links;
    private final Bound bound;
    private final BigFraction tau;
    private @Nullable LinkForest whole;
    private @Nullable FewTrees few;

    /** @throws IllegalArgumentException if the network has forwarders, or links wider one way than the other */
    SpanningTreePacking(Network network) {
        this.network = network;
        links = DuplexLinks.of(network);
        bound = AllReduceBound.of(network);
        tau = bound.gbs().divide(network.unitGbs());
    }

    /** Returns the optimal packing, or the best found of at most so many trees. */
    synchronized TreePacking ofAtMost(int maxTrees) {
        LinkForest forest = whole;
        if (forest == null) {
            forest = whole = whole(links, tau);
        }
        if (forest.trees().size() > maxTrees) {
            if (few == null) {
                few = new FewTrees(links, tau, forest);
            }
            forest = few.best(maxTrees);
        }
        BigFraction weight = forest.weight();
        List<PackedTree> trees = new ArrayList<>();
        for (int t = 0; t < forest.trees().size(); t++) {
            trees.add(PackedTree.of(
                    forest.weights().get(t).divide(weight),
                    forest.trees().get(t).rooted()));
        }
        return new TreePacking(network, trees, network.unitGbs().multiply(forest.rate(links)), bound, List.of());
    }

    private static LinkForest whole(DuplexLinks links, BigFraction tau) {
        long scale = tau.getDenominator().longValueExact();
        long[] capacity = new long[links.links()];
        Arrays.setAll(capacity, link -> Math.multiplyExact(links.capacity(link), scale));
        TreePeel peel = new TreePeel(links, capacity, tau.getNumerator().longValueExact());
        LinkForest best = peel.peel(TASTES.getFirst(), 0);
        for (int i = 1; i < ATTEMPTS && peel.work() < ENOUGH_WORK; i++) {
            int maxCost = best.weight().equals(BigFraction.ONE) ? best.cost() - 1 : Integer.MAX_VALUE;
            LinkForest forest = peel.peel(TASTES.get(i % TASTES.size()), i, maxCost);
            if (forest != null && better(forest, best)) {
                best = forest;
            }
        }
        return best;
    }

    private static boolean better(LinkForest forest, LinkForest than) {
        int difference = forest.weight().compareTo(than.weight());
        return difference > 0 || (difference == 0 && forest.cost() < than.cost());
    }
}
