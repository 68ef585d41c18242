package dev.banyan.trees.packing.program;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** The cheapest of a few trees. */
final class GivenTrees implements TreePricing {
    private final List<TreeShape> trees;

    /**
     * @param trees of those that cost the same the first is taken
     */
    GivenTrees(List<TreeShape> trees) {
        this.trees = trees;
    }

    @Override
    public @Nullable TreeShape cheapest(PricedPaths paths) {
        TreeShape cheapest = null;
        long least = PricedPaths.NONE;
        for (TreeShape tree : trees) {
            long cost = tree.cost(paths);
            if (cost < least) {
                least = cost;
                cheapest = tree;
            }
        }
        return cheapest;
    }

    @Override
    public long operations(int ranks) {
        return (long) ranks * trees.size();
    }
}
