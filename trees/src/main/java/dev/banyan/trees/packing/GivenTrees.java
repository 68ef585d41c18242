package dev.banyan.trees.packing;

import java.util.List;

/** The cheapest of a few trees. */
final class GivenTrees implements TreePricing {
    private final List<TreeShape> trees;

    /**
     * @param trees at least one; of those that cost the same the first is taken
     */
    GivenTrees(List<TreeShape> trees) {
        this.trees = trees;
    }

    @Override
    public TreeShape cheapest(PricedPaths paths) {
        TreeShape cheapest = trees.getFirst();
        long least = cheapest.cost(paths);
        for (TreeShape tree : trees) {
            long cost = tree.cost(paths);
            if (cost < least) {
                least = cost;
                cheapest = tree;
            }
        }
        return cheapest;
    }
}
