package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Tree;

/** Brute force over every parent function; independent of what is tested. */
final class AllTrees {
    private AllTrees() {}

    /** Greatest weight of a tree of ceil(log2 n) levels, or -1 where there is none. */
    static double bestBalanced(LinkMatrix matrix, int root) {
        int[] parents = new int[matrix.size()];
        parents[root] = -1;
        return best(matrix, root, parents, 0);
    }

    private static double best(LinkMatrix matrix, int root, int[] parents, int device) {
        int n = matrix.size();
        if (device == n) {
            return balancedWeight(matrix, root, parents);
        }
        if (device == root) {
            return best(matrix, root, parents, device + 1);
        }
        double best = -1;
        for (int parent = 0; parent < n; parent++) {
            if (matrix.weight(parent, device) > 0) {
                parents[device] = parent;
                best = Math.max(best, best(matrix, root, parents, device + 1));
            }
        }
        return best;
    }

    private static double balancedWeight(LinkMatrix matrix, int root, int[] parents) {
        double weight = 0;
        for (int v = 0; v < parents.length; v++) {
            int steps = 0;
            for (int at = v; at != root; at = parents[at]) {
                if (++steps == parents.length) {
                    return -1;
                }
            }
            if (v != root) {
                weight += matrix.weight(parents[v], v);
            }
        }
        return Tree.ofParents(parents).isBalancedBinary() ? weight : -1;
    }
}
