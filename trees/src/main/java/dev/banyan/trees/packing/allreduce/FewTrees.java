package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.internal.Basis;
import dev.banyan.trees.internal.CommonFractions;
import dev.banyan.trees.internal.DuplexLinks;
import dev.banyan.trees.internal.PackingSimplex;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The best forest found of at most k trees. To take less than all that the links can carry needs fewer trees, so
 * forests are {@linkplain TreePeel peeled} for each percent of it, within a fixed amount of work. The k trees of the
 * greatest weight of each are kept, and a linear program gives these the shares with the best rate.
 *
 * <p>Which forests are made does not depend on k, so more trees are never worse. Used by one thread.
 */
final class FewTrees {
    private static final int PERCENT = 100;
    /** Has no factor in common with 100. */
    private static final int STEP = 37;
    /** Forests made for all that the links can carry. */
    private static final int AT_WHOLE = 20;
    /** Forests made for each percent. */
    private static final int ROUNDS = 1;
    /** Work after which no further forest is made; some seconds. */
    private static final long ENOUGH_WORK = 50_000_000;
    /** Above what rounding and the capacities raised by {@link PackingSimplex} can bring about. */
    private static final double ROUNDING = 5e-7;

    private final DuplexLinks links;
    private final List<LinkForest> forests = new ArrayList<>();
    private long work;

    /**
     * Makes the forests to choose from.
     *
     * @param tau weight that the links can carry, in units of capacity
     * @param whole a forest of that weight
     */
    FewTrees(DuplexLinks links, BigFraction tau, LinkForest whole) {
        this.links = links;
        forests.add(new LinkForest(List.of(widest()), List.of(BigFraction.ONE)));
        forests.add(whole);
        long scale = Math.multiplyExact(tau.getDenominator().longValueExact(), PERCENT);
        long[] capacity = new long[links.links()];
        Arrays.setAll(capacity, link -> Math.multiplyExact(links.capacity(link), scale));
        for (int i = 0; i < AT_WHOLE && work < ENOUGH_WORK / 2; i++) {
            make(capacity, tau, PERCENT, i);
        }
        for (int i = 0; i < ROUNDS * PERCENT && work < ENOUGH_WORK; i++) {
            // All percents, the next one always far from the last, and another taste each round.
            make(capacity, tau, PERCENT - i * STEP % PERCENT, i + i / PERCENT);
        }
    }

    private void make(long[] capacity, BigFraction tau, int percent, int seed) {
        List<TreePeel.Taste> tastes = SpanningTreePacking.TASTES;
        TreePeel peel = new TreePeel(links, capacity, tau.getNumerator().longValueExact() * percent);
        forests.add(peel.peel(tastes.get(seed % tastes.size()), seed));
        work += peel.work();
    }

    /** Returns the least deep tree found among those whose narrowest link is the widest possible. */
    private LinkTree widest() {
        long[] widths = IntStream.range(0, links.links())
                .mapToLong(links::capacity)
                .distinct()
                .sorted()
                .toArray();
        int low = 0;
        int high = widths.length - 1;
        while (low < high) {
            int middle = (low + high + 1) / 2;
            if (search(0, widths[middle]).length == links.nodes() - 1) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        long width = widths[low];
        return IntStream.range(0, links.nodes())
                .mapToObj(root -> new LinkTree(links, search(root, width)))
                .min(Comparator.comparingInt(LinkTree::depth))
                .orElseThrow();
    }

    /** Links by which a breadth-first search finds ranks, by links at least so wide. */
    private int[] search(int root, long width) {
        boolean[] found = new boolean[links.nodes()];
        int[] queue = new int[links.nodes()];
        int[] tree = new int[links.nodes() - 1];
        found[root] = true;
        queue[0] = root;
        int tail = 1;
        for (int head = 0; head < tail; head++) {
            for (int i = links.firstEnd(queue[head]); i < links.firstEnd(queue[head] + 1); i++) {
                int end = links.end(i);
                int other = links.rankAt(end ^ 1);
                if (!found[other] && links.capacity(end >> 1) >= width) {
                    found[other] = true;
                    tree[tail - 1] = end >> 1;
                    queue[tail++] = other;
                }
            }
        }
        return Arrays.copyOf(tree, tail - 1);
    }

    /** The forest of the best rate; of these the one of the least {@link LinkForest#cost}. */
    LinkForest best(int maxTrees) {
        Set<List<LinkTree>> seen = new HashSet<>();
        LinkForest best = forests.getFirst();
        BigFraction bestRate = best.rate(links);
        double enough = 0;
        for (LinkForest forest : forests) {
            List<LinkTree> trees = heaviest(forest, maxTrees);
            if (seen.add(trees)) {
                Basis<LinkTree> basis = new PackingSimplex<LinkTree>(capacities()).pack(trees);
                if (basis.total() < enough) {
                    continue;
                }
                LinkForest shared = withExactShares(basis);
                BigFraction rate = shared.rate(links);
                int difference = rate.compareTo(bestRate);
                if (difference > 0 || (difference == 0 && shared.cost() < best.cost())) {
                    best = shared;
                    bestRate = rate;
                    enough = basis.total() * (1 - ROUNDING);
                }
            }
        }
        return best;
    }

    private long[] capacities() {
        return IntStream.range(0, links.links()).mapToLong(links::capacity).toArray();
    }

    private static List<LinkTree> heaviest(LinkForest forest, int count) {
        List<BigFraction> weights = forest.weights();
        return IntStream.range(0, weights.size())
                .boxed()
                .sorted(Collections.reverseOrder(Comparator.comparing(weights::get)))
                .limit(count)
                .sorted()
                .map(forest.trees()::get)
                .toList();
    }

    private static LinkForest withExactShares(Basis<LinkTree> basis) {
        CommonFractions amounts =
                Objects.requireNonNull(basis.exactAmounts(), "the basis of a few trees is small and feasible");
        List<LinkTree> used = new ArrayList<>();
        List<BigFraction> weights = new ArrayList<>();
        for (int t = 0; t < basis.columns().size(); t++) {
            if (amounts.numerator(t).signum() > 0) {
                used.add(basis.columns().get(t));
                weights.add(BigFraction.of(amounts.numerator(t), amounts.denominator()));
            }
        }
        return new LinkForest(used, weights);
    }
}
