package dev.banyan.trees.packing.program;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cheap tree of a limited depth: the cheapest of some given ones and of those that Prim's algorithm finds
 * from each root when it goes no deeper. A heuristic, for the true problem is NP-hard. O(n^3).
 */
final class ShallowTree implements TreePricing {
    private final int limit;
    private final GivenTrees known;

    /**
     * @param limit greatest depth, at least 1
     * @param known trees to consider besides, those that are no deeper
     */
    ShallowTree(int limit, List<TreeShape> known) {
        this.limit = limit;
        this.known = new GivenTrees(
                known.stream().filter(tree -> tree.depth() <= limit).toList());
    }

    @Override
    public @Nullable TreeShape cheapest(PricedPaths paths) {
        TreeShape cheapest = known.cheapest(paths);
        long least = cheapest == null ? PricedPaths.NONE : cheapest.cost(paths);
        for (int root = 0; root < paths.wires().network().ranks(); root++) {
            TreeShape tree = CheapestTree.from(root, limit, paths);
            long cost = tree == null ? PricedPaths.NONE : tree.cost(paths);
            if (cost < least) {
                least = cost;
                cheapest = tree;
            }
        }
        return cheapest;
    }

    @Override
    public long operations(int ranks) {
        return (long) ranks * ranks * ranks + known.operations(ranks);
    }
}
