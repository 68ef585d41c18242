package dev.banyan.trees;

import dev.banyan.topology.LinkMatrix;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A rooted spanning tree over devices 0..n-1. A reduction goes up from the leaves to the root, a
 * broadcast down. Immutable and safe for use from any thread.
 */
public final class Tree {
    private final int root;
    private final int[] parents;
    private final int[][] children;
    private final int[] topDown;
    private final int depth;

    private Tree(int root, int[] parents, int[][] children) {
        this.root = root;
        this.parents = parents;
        this.children = children;
        int n = parents.length;
        topDown = new int[n];
        int[] depths = new int[n];
        topDown[0] = root;
        int tail = 1;
        int deepest = 0;
        for (int head = 0; head < tail; head++) {
            for (int child : children[topDown[head]]) {
                depths[child] = depths[topDown[head]] + 1;
                deepest = Math.max(deepest, depths[child]);
                topDown[tail++] = child;
            }
        }
        if (tail != n) {
            throw new IllegalArgumentException("parents " + Arrays.toString(parents) + " do not all lead to root " + root);
        }
        depth = deepest;
    }

    /**
     * A tree from each device's parent; children are in ascending order.
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
                throw new IllegalArgumentException("device " + v + " has parent " + parent + "; it must be another of 0.."
                        + (n - 1) + ", or -1 for the one root");
            } else {
                counts[parent]++;
            }
        }
        if (root < 0) {
            throw new IllegalArgumentException("no root in parents " + Arrays.toString(parents) + "; one must be -1");
        }
        int[][] children = new int[n][];
        Arrays.setAll(children, v -> new int[counts[v]]);
        int[] filled = new int[n];
        for (int v = 0; v < n; v++) {
            if (v != root) {
                children[parents[v]][filled[parents[v]]++] = v;
            }
        }
        return new Tree(root, parents.clone(), children);
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

    /** The same links hung up at another device. */
    public Tree rerooted(int newRoot) {
        int[] turned = parents.clone();
        int above = -1;
        for (int v = newRoot; v != -1; ) {
            int next = parents[v];
            turned[v] = above;
            above = v;
            v = next;
        }
        return ofParents(turned);
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
