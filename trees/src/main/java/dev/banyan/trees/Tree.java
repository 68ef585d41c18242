package dev.banyan.trees;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.internal.Rerooting;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A rooted spanning tree over devices 0..n-1. A reduction goes up from the leaves to the root, a
 * broadcast down.
 *
 * <p>A broadcast goes in levels: at each level every device that has the data, a <i>sub-root</i>, meets
 * at most one child. A device meets its children in the order of {@link #children}, from the level
 * after its own meeting onwards, one per level without a pause. {@link #levels()} writes that down.
 *
 * <p>Immutable and safe for use from any thread.
 */
public final class Tree {
    private final int root;
    private final int[] parents;
    private final int[][] children;
    private final int[] topDown;
    private final int depth;
    private final int levelCount;

    private Tree(int root, int[] parents, int[][] children) {
        this.root = root;
        this.parents = parents;
        this.children = children;
        topDown = breadthFirst(root, children, parents);
        int[] depths = new int[parents.length];
        int[] met = new int[parents.length];
        int deepest = 0;
        int last = 0;
        for (int device : topDown) {
            int level = met[device];
            for (int child : children[device]) {
                depths[child] = depths[device] + 1;
                deepest = Math.max(deepest, depths[child]);
                met[child] = ++level;
            }
            last = Math.max(last, level);
        }
        depth = deepest;
        levelCount = last;
    }

    private static int[] breadthFirst(int root, int[][] children, int[] parents) {
        int[] order = new int[parents.length];
        order[0] = root;
        int tail = 1;
        for (int head = 0; head < tail; head++) {
            for (int child : children[order[head]]) {
                order[tail++] = child;
            }
        }
        if (tail != parents.length) {
            throw new IllegalArgumentException(
                    "parents " + Arrays.toString(parents) + " do not all lead to root " + root);
        }
        return order;
    }

    /**
     * A tree from each device's parent. A device meets first the child whose own broadcast takes the
     * most levels (ties in ascending order), which makes the number of levels the least that these
     * links allow (Slater, Cockayne, Hedetniemi: "Information Dissemination in Trees", SIAM J. Comput.
     * 10(4), 1981, doi:10.1137/0210052).
     *
     * @param parents parents[v] is the parent of v, or -1 for the one root
     * @throws IllegalArgumentException if that is not a tree
     */
    public static Tree ofParents(int... parents) {
        int n = parents.length;
        int root = -1;
        int[] counts = new int[n];
        for (int v = 0; v < n; v++) {
            int parent = parents[v];
            if (parent == -1 && root < 0) {
                root = v;
            } else if (parent < 0 || parent >= n || parent == v) {
                throw new IllegalArgumentException("device " + v + " has parent " + parent
                        + "; it must be another of 0.." + (n - 1) + ", or -1 for the one root");
            } else {
                counts[parent]++;
            }
        }
        if (root < 0) {
            throw new IllegalArgumentException("no root in parents " + Arrays.toString(parents) + "; one must be -1");
        }
        int[][] children = new int[n][];
        for (int v = 0; v < n; v++) {
            children[v] = new int[counts[v]];
        }
        int[] filled = new int[n];
        for (int v = 0; v < n; v++) {
            if (v != root) {
                children[parents[v]][filled[parents[v]]++] = v;
            }
        }
        int[] order = breadthFirst(root, children, parents);
        int[] duration = new int[n];
        for (int i = n - 1; i >= 0; i--) {
            int[] below = children[order[i]];
            sortByDuration(below, duration);
            int longest = 0;
            for (int k = 0; k < below.length; k++) {
                longest = Math.max(longest, k + 1 + duration[below[k]]);
            }
            duration[order[i]] = longest;
        }
        return new Tree(root, parents.clone(), children);
    }

    /** Stable, longest first; the arrays are short. */
    private static void sortByDuration(int[] devices, int[] duration) {
        for (int i = 1; i < devices.length; i++) {
            int device = devices[i];
            int j = i;
            for (; j > 0 && duration[devices[j - 1]] < duration[device]; j--) {
                devices[j] = devices[j - 1];
            }
            devices[j] = device;
        }
    }

    /** Number of devices n. */
    public int size() {
        return parents.length;
    }

    /** The device that holds the result of a reduction. */
    public int root() {
        return root;
    }

    /** Parent of a device, -1 for the root. */
    public int parent(int device) {
        return parents[device];
    }

    /** Children of a device, in the order in which it meets them from the root downwards; a new array. */
    public int[] children(int device) {
        return children[device].clone();
    }

    /** All devices, each after its parent; a new array of length n. */
    public int[] topDown() {
        return topDown.clone();
    }

    /** Greatest number of links between the root and a device. */
    public int depth() {
        return depth;
    }

    /** Number of levels in which a broadcast reaches every device; 0 for one device, at least log2 n. */
    public int levelCount() {
        return levelCount;
    }

    /**
     * Returns whether this is a balanced binary tree: ceil(log2 n) levels, the fewest possible. "Binary" is its level
     * array, not its links: a device has up to ceil(log2 n) children, one per level.
     */
    public boolean isBalancedBinary() {
        return levelCount == ceilLog2(size());
    }

    private static int ceilLog2(int n) {
        return Integer.SIZE - Integer.numberOfLeadingZeros(n - 1);
    }

    /**
     * The level arrays: row 0 is the root, and each later row repeats the row above, each sub-root
     * followed by the partner that it meets at that level.
     *
     * <p>In a {@linkplain #isBalancedBinary() balanced binary} tree a device that meets nobody is written
     * twice, so that row k has 2^k entries, in pairs of sub-root and partner, e.g. {@code [3] [3 1]
     * [3 0 1 5] [3 3 0 4 1 2 5 6]}. In any other tree it is written once, so that row k lists every
     * device reached so far exactly once, e.g. {@code [0] [0 1] [0 2 1] [0 3 2 1]} for a star of four
     * devices (with doubling, the rows of a deep tree would grow beyond all bounds).
     *
     * @return {@code levelCount() + 1} new rows
     */
    public int[][] levels() {
        boolean doubling = isBalancedBinary();
        int[][] levels = new int[levelCount + 1][];
        levels[0] = new int[] {root};
        int[] met = new int[size()];
        for (int k = 1; k <= levelCount; k++) {
            int[] above = levels[k - 1];
            int[] row = new int[2 * above.length];
            int at = 0;
            for (int device : above) {
                row[at++] = device;
                if (met[device] < children[device].length) {
                    row[at++] = children[device][met[device]++];
                } else if (doubling) {
                    row[at++] = device;
                }
            }
            levels[k] = Arrays.copyOf(row, at);
        }
        return levels;
    }

    /** Links as [parent, child], each child after its parent's own link. */
    public List<int[]> edges() {
        List<int[]> edges = new ArrayList<>(size() - 1);
        for (int device : topDown) {
            if (device != root) {
                edges.add(new int[] {parents[device], device});
            }
        }
        return edges;
    }

    /** The tree of the same links with another root, in as few levels as they allow. */
    public Tree rerooted(int newRoot) {
        return ofParents(Rerooting.at(newRoot, parents));
    }

    /** Sum of the weights of its links. */
    public double weight(LinkMatrix matrix) {
        double sum = 0;
        for (int v = 0; v < size(); v++) {
            if (v != root) {
                sum += matrix.weight(parents[v], v);
            }
        }
        return sum;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Tree tree && root == tree.root && Arrays.deepEquals(children, tree.children);
    }

    @Override
    public int hashCode() {
        return 31 * root + Arrays.deepHashCode(children);
    }

    @Override
    public String toString() {
        return "Tree[root=" + root + ", parents=" + Arrays.toString(parents) + "]";
    }
}
