package dev.banyan.trees.internal.render;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;

/**
 * Figures by which forests over the same matrix compare.
 *
 * @param busiestLinkLoad trees per GB/s on the busiest undirected link: how many trees use it over its
 *     one-way bandwidth; less is better. 0 without links; infinite where a used link has no bandwidth
 * @param totalWeight sum of the trees' weights, not penalised
 * @param leastWeight weight of the lightest tree
 * @param meanWeight mean weight of a tree
 * @param depth greatest number of links between a root and a device
 * @param levels greatest number of levels of a tree
 */
public record ForestQuality(
        double busiestLinkLoad, double totalWeight, double leastWeight, double meanWeight, int depth, int levels) {

    /**
     * Measures a forest. O(n^2 + trees n).
     *
     * @throws IllegalArgumentException if the matrix is not of the forest's size
     */
    public static ForestQuality of(Forest forest, LinkMatrix matrix) {
        int n = forest.size();
        if (matrix.size() != n) {
            throw new IllegalArgumentException("the forest spans " + n + " devices, the matrix " + matrix.size());
        }
        int[][] uses = new int[n][n];
        double total = 0;
        double least = Double.POSITIVE_INFINITY;
        int depth = 0;
        int levels = 0;
        for (Tree tree : forest.trees()) {
            for (int v = 0; v < n; v++) {
                int parent = tree.parent(v);
                if (parent >= 0) {
                    uses[Math.min(v, parent)][Math.max(v, parent)]++;
                }
            }
            double weight = tree.weight(matrix);
            total += weight;
            least = Math.min(least, weight);
            depth = Math.max(depth, tree.depth());
            levels = Math.max(levels, tree.levelCount());
        }
        double busiest = 0;
        for (int a = 0; a < n; a++) {
            for (int b = a + 1; b < n; b++) {
                if (uses[a][b] > 0) {
                    busiest = Math.max(busiest, uses[a][b] / Math.min(matrix.gbs(a, b), matrix.gbs(b, a)));
                }
            }
        }
        return new ForestQuality(busiest, total, least, total / forest.trees().size(), depth, levels);
    }
}
