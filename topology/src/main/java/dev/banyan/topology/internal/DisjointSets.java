package dev.banyan.topology.internal;

/**
 * A partition of the numbers 0..n-1 into sets, which can only be joined. Each set is represented by its lowest member.
 *
 * <p>Amortised O(log n) per call. Not safe for use from several threads at once.
 */
public final class DisjointSets {
    private final int[] parent;

    /** Every number is in a set of its own. */
    public DisjointSets(int n) {
        parent = new int[n];
        separate();
    }

    /** Puts every number into a set of its own again. */
    public void separate() {
        for (int i = 0; i < parent.length; i++) {
            parent[i] = i;
        }
    }

    /** The lowest member of the set that holds a number. */
    public int find(int number) {
        int root = number;
        while (parent[root] != root) {
            parent[root] = parent[parent[root]];
            root = parent[root];
        }
        return root;
    }

    /** Joins the sets that hold two numbers. */
    public void union(int a, int b) {
        int first = find(a);
        int second = find(b);
        parent[Math.max(first, second)] = Math.min(first, second);
    }
}
