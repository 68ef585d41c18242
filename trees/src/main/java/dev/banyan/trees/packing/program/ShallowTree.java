package dev.banyan.trees.packing.program;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A cheap tree of a limited depth: the cheapest of some given ones and of those that Prim's algorithm finds
 * from each root when it goes no deeper. A heuristic, for the true problem is NP-hard. O(n^3).
 */
final class ShallowTree implements TreePricing {
    private final int limit;
    private final List<TreeShape> known;

    /**
     * @param limit greatest depth, at least 1
     * @param known trees to consider besides, those that are no deeper
     */
    ShallowTree(int limit, List<TreeShape> known) {
        this.limit = limit;
        this.known = known.stream().filter(tree -> tree.depth() <= limit).toList();
    }

    @Override
    public @Nullable TreeShape cheapest(PricedPaths paths) {
        List<TreeShape> trees = new ArrayList<>(known);
        for (int root = 0; root < paths.rows().network().ranks(); root++) {
            TreeShape tree = CheapestTree.from(root, limit, paths);
            if (tree != null) {
                trees.add(tree);
            }
        }
        return new GivenTrees(trees).cheapest(paths);
    }

    @Override
    public long operations(int ranks) {
        return (long) ranks * ranks * ranks + (long) ranks * known.size();
    }
}
