package dev.banyan.trees.internal;

import dev.banyan.trees.Tree;

/**
 * Gives trees other roots. Trees are written as the parent of each node, -1 for the root: searches make
 * far more of them than they keep. {@link Tree#rerooted} does it for trees that are kept. O(n) each. Safe for
 * use from any thread.
 */
public final class Rerooting {
    private Rerooting() {}

    /** The tree with another root; a new array. */
    public static int[] at(int root, int[] parents) {
        int[] turned = parents.clone();
        int above = -1;
        for (int node = root; node >= 0; ) {
            int next = parents[node];
            turned[node] = above;
            above = node;
            node = next;
        }
        return turned;
    }

    /**
     * The tree hung up at its centre, where it is the least deep: half-way along a longest path, which ends at
     * a node furthest from any other. Of two centres the lower; a new array.
     */
    public static int[] atCentre(int[] parents) {
        int[] fromEnd = at(deepest(depths(parents)), parents);
        int[] depths = depths(fromEnd);
        int node = deepest(depths);
        int length = depths[node];
        for (int climbed = 0; climbed < length / 2; climbed++) {
            node = fromEnd[node];
        }
        return at(length % 2 == 0 ? node : Math.min(node, fromEnd[node]), fromEnd);
    }

    /** Greatest number of links between the root and a node. */
    public static int depth(int[] parents) {
        int[] depths = depths(parents);
        return depths[deepest(depths)];
    }

    private static int deepest(int[] depths) {
        int deepest = 0;
        for (int node = 1; node < depths.length; node++) {
            deepest = depths[node] > depths[deepest] ? node : deepest;
        }
        return deepest;
    }

    private static int[] depths(int[] parents) {
        int[] depths = new int[parents.length];
        for (int node = 0; node < parents.length; node++) {
            int climbed = 0;
            int above = node;
            while (parents[above] >= 0 && depths[above] == 0) {
                climbed++;
                above = parents[above];
            }
            int depth = depths[above] + climbed;
            for (int below = node; below != above; below = parents[below]) {
                depths[below] = depth--;
            }
        }
        return depths;
    }
}
