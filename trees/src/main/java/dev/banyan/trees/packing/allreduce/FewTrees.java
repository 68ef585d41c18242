package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.network.DuplexLinks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.ojalgo.optimisation.Expression;
import org.ojalgo.optimisation.ExpressionsBasedModel;
import org.ojalgo.optimisation.Optimisation;
import org.ojalgo.optimisation.Variable;

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
    private static final int AT_WHOLE = 40;
    /** Forests made for each percent. */
    private static final int ROUNDS = 4;
    /** Work after which no further forest is made; some seconds. */
    private static final long ENOUGH_WORK = 50_000_000;
    /** Greatest denominator of the weights that the linear program, in floating point, is taken to mean. */
    private static final int DENOMINATOR = 1_000_000;

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

    /** Of the trees whose narrowest link is the widest possible, the least deep one found. */
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
        for (LinkForest forest : forests) {
            List<LinkTree> trees = heaviest(forest, maxTrees);
            if (seen.add(trees)) {
                LinkForest shared = withBestShares(trees);
                BigFraction rate = shared.rate(links);
                int difference = rate.compareTo(bestRate);
                if (difference > 0 || (difference == 0 && shared.cost() < best.cost())) {
                    best = shared;
                    bestRate = rate;
                }
            }
        }
        return best;
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

    private LinkForest withBestShares(List<LinkTree> trees) {
        ExpressionsBasedModel model = new ExpressionsBasedModel();
        Expression[] load = new Expression[links.links()];
        for (int t = 0; t < trees.size(); t++) {
            Variable weight = model.addVariable("tree " + t).lower(0).weight(1);
            for (int i = 0; i < trees.get(t).size(); i++) {
                int link = trees.get(t).link(i);
                if (load[link] == null) {
                    load[link] = model.addExpression("link " + link).upper(links.capacity(link));
                }
                load[link].set(weight, 1);
            }
        }
        Optimisation.Result result = model.maximise();
        if (!result.getState().isOptimal()) {
            throw new IllegalStateException("no shares for trees: the linear program ended as " + result.getState());
        }
        double sum = IntStream.range(0, trees.size())
                .mapToDouble(result::doubleValue)
                .sum();
        List<LinkTree> used = new ArrayList<>();
        List<BigFraction> shares = new ArrayList<>();
        for (int t = 0; t < trees.size(); t++) {
            BigFraction share = BigFraction.from(result.doubleValue(t) / sum, DENOMINATOR);
            if (share.signum() > 0) {
                used.add(trees.get(t));
                shares.add(share);
            }
        }
        return new LinkForest(used, shares);
    }
}
