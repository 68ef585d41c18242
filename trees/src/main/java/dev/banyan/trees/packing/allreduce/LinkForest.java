package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.internal.DuplexLinks;
import java.util.Arrays;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Different spanning trees, each with a weight; an allreduce takes them in proportion to that.
 *
 * @param trees at least one
 * @param weights by tree, above 0
 */
record LinkForest(List<LinkTree> trees, List<BigFraction> weights) {
    LinkForest {
        trees = List.copyOf(trees);
        weights = List.copyOf(weights);
    }

    BigFraction weight() {
        return weights.stream().reduce(BigFraction.ZERO, BigFraction::add);
    }

    int depth() {
        return trees.stream().mapToInt(LinkTree::depth).max().orElseThrow();
    }

    /** The less the better, among forests of the same rate. */
    int cost() {
        return cost(trees.size(), depth(), trees.getFirst().rowsUsed() + 1);
    }

    /**
     * A level of depth makes all data wait, a tree costs steps: a level counts as much as a tree per four
     * ranks.
     */
    static int cost(int trees, int depth, int ranks) {
        return trees + depth * Math.max(1, ranks / 4);
    }

    /** Weight of all trees when the busiest link is full, by the links' own unit of capacity. */
    BigFraction rate(DuplexLinks links) {
        BigFraction[] load = new BigFraction[links.links()];
        Arrays.fill(load, BigFraction.ZERO);
        for (int t = 0; t < trees.size(); t++) {
            for (int i = 0; i < trees.get(t).rowsUsed(); i++) {
                int link = trees.get(t).row(i);
                load[link] = load[link].add(weights.get(t));
            }
        }
        BigFraction slowest = BigFraction.ZERO;
        for (int link = 0; link < load.length; link++) {
            BigFraction time = load[link].divide(links.capacity(link));
            slowest = time.compareTo(slowest) > 0 ? time : slowest;
        }
        return weight().divide(slowest);
    }
}
