package dev.banyan.trees.packing.program;

import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Minimum spanning trees over the ranks of a network whose paths have prices, equal both ways; of those,
 * one that is shallow below a given root where ties allow. O(n^2).
 *
 * <p>Source: R. C. Prim, "Shortest connection networks and some generalizations", Bell System Technical
 * Journal 36, 1957, doi:10.1002/j.1538-7305.1957.tb01515.x.
 */
final class CheapestTree implements TreePricing {
    private final int ranks;
    private int round;

    CheapestTree(int ranks) {
        this.ranks = ranks;
    }

    /** Grown from another root each time, for variety. */
    @Override
    public TreeShape cheapest(PricedPaths paths) {
        round = (round + 1) % ranks;
        return Objects.requireNonNull(from(round, ranks, paths), "a network joins all ranks");
    }

    /**
     * Grown from a root, but no deeper than a limit; the cheapest only if that is at least n - 1.
     *
     * @return or null if it finds no tree within the limit
     */
    static @Nullable TreeShape from(int root, int limit, PricedPaths paths) {
        int n = paths.rows().network().ranks();
        int[] parents = new int[n];
        int[] depth = new int[n];
        long[] link = new long[n];
        boolean[] joined = new boolean[n];
        Arrays.fill(link, PricedPaths.NONE);
        Arrays.fill(parents, -1);
        int latest = root;
        for (int size = 1; size < n; size++) {
            joined[latest] = true;
            int next = -1;
            for (int rank = 0; rank < n; rank++) {
                if (joined[rank]) {
                    continue;
                }
                long cost = depth[latest] < limit ? paths.cost(latest, rank) : PricedPaths.NONE;
                if (cost < link[rank]
                        || (cost == link[rank] && cost < PricedPaths.NONE && depth[latest] + 1 < depth[rank])) {
                    link[rank] = cost;
                    parents[rank] = latest;
                    depth[rank] = depth[latest] + 1;
                }
                if (next < 0 || link[rank] < link[next] || (link[rank] == link[next] && depth[rank] < depth[next])) {
                    next = rank;
                }
            }
            if (link[next] == PricedPaths.NONE) {
                return null;
            }
            latest = next;
        }
        return TreeShape.undirected(parents);
    }

    @Override
    public long operations(int ranks) {
        return (long) ranks * ranks;
    }
}
