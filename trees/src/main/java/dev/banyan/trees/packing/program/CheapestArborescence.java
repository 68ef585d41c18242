package dev.banyan.trees.packing.program;

import java.util.Arrays;

/**
 * The cheapest arborescence out of a root, in a complete directed graph with costs: every other node takes
 * its cheapest incoming arc, cycles among these are contracted to one node, and so on. O(n^3), mostly far
 * less.
 *
 * <p>Sources: Y. J. Chu, T. H. Liu, "On the shortest arborescence of a directed graph", Science Sinica 14,
 * 1965; J. Edmonds, "Optimum branchings", J. Research of the National Bureau of Standards 71B, 1967,
 * doi:10.6028/jres.071B.032.
 */
final class CheapestArborescence {
    private CheapestArborescence() {}

    /**
     * Finds it.
     *
     * @param cost cost[u][v] of the arc from u to v, at most {@link PricedPaths#NONE}, which stands for no arc
     * @return parent of each node, -1 for the root
     */
    static int[] from(int root, long[][] cost) {
        int n = cost.length;
        int[] parent = new int[n];
        for (int v = 0; v < n; v++) {
            parent[v] = v == root ? -1 : cheapestInto(v, cost);
        }
        int onCycle = nodeOnCycle(parent);
        return onCycle < 0 ? parent : withoutCycle(root, cost, parent, onCycle);
    }

    private static int cheapestInto(int v, long[][] cost) {
        int best = v == 0 ? 1 : 0;
        for (int u = 0; u < cost.length; u++) {
            if (u != v && cost[u][v] < cost[best][v]) {
                best = u;
            }
        }
        return best;
    }

    private static int nodeOnCycle(int[] parent) {
        int[] seenFrom = new int[parent.length];
        Arrays.fill(seenFrom, -1);
        for (int start = 0; start < parent.length; start++) {
            int node = start;
            while (node >= 0 && seenFrom[node] < 0) {
                seenFrom[node] = start;
                node = parent[node];
            }
            if (node >= 0 && seenFrom[node] == start) {
                return node;
            }
        }
        return -1;
    }

    /**
     * Contracts the cycle to the last node of a smaller graph, solves that, and opens the cycle where it is
     * entered.
     */
    private static int[] withoutCycle(int root, long[][] cost, int[] parent, int onCycle) {
        int n = cost.length;
        boolean[] cycle = new boolean[n];
        for (int node = onCycle; !cycle[node]; node = parent[node]) {
            cycle[node] = true;
        }
        int[] original = new int[n];
        int outside = 0;
        int smallRoot = -1;
        for (int node = 0; node < n; node++) {
            if (!cycle[node]) {
                smallRoot = node == root ? outside : smallRoot;
                original[outside++] = node;
            }
        }
        long[][] small = new long[outside + 1][outside + 1];
        int[] entry = new int[outside];
        int[] exit = new int[outside];
        for (int a = 0; a < outside; a++) {
            for (int b = 0; b < outside; b++) {
                small[a][b] = cost[original[a]][original[b]];
            }
            small[a][outside] = PricedPaths.NONE;
            small[outside][a] = PricedPaths.NONE;
            entry[a] = onCycle;
            exit[a] = onCycle;
            for (int node = 0; node < n; node++) {
                if (!cycle[node]) {
                    continue;
                }
                long in = cost[original[a]][node];
                long more = in == PricedPaths.NONE ? in : in - cost[parent[node]][node];
                if (more < small[a][outside]) {
                    small[a][outside] = more;
                    entry[a] = node;
                }
                if (cost[node][original[a]] < small[outside][a]) {
                    small[outside][a] = cost[node][original[a]];
                    exit[a] = node;
                }
            }
        }
        int[] smallParent = from(smallRoot, small);
        int[] result = parent.clone();
        for (int b = 0; b < outside; b++) {
            int a = smallParent[b];
            result[original[b]] = a < 0 ? -1 : a == outside ? exit[b] : original[a];
        }
        int enteredFrom = smallParent[outside];
        result[entry[enteredFrom]] = original[enteredFrom];
        return result;
    }
}
