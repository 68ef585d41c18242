package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.Column;
import dev.banyan.trees.internal.DuplexLinks;
import dev.banyan.trees.internal.Rerooting;
import java.util.Arrays;

/** A spanning tree as a set of links, with its centre: the rank from which it is the least deep. Immutable. */
final class LinkTree implements Column {
    private final int[] links;
    private final int depth;
    private final int[] parents;

    /**
     * @param graph the links
     * @param links those of the tree, in any order
     */
    LinkTree(DuplexLinks graph, int... links) {
        this.links = links.clone();
        Arrays.sort(this.links);
        int[] first = new int[graph.nodes()];
        int[] next = new int[2 * links.length];
        int[] ends = new int[2 * links.length];
        Arrays.fill(first, -1);
        for (int i = 0; i < next.length; i++) {
            ends[i] = 2 * this.links[i / 2] + i % 2;
            int rank = graph.rankAt(ends[i]);
            next[i] = first[rank];
            first[rank] = i;
        }
        parents = Rerooting.atCentre(search(graph, first, next, ends));
        depth = Rerooting.depth(parents);
    }

    /** The parent of each rank, seen from rank 0. */
    private static int[] search(DuplexLinks graph, int[] first, int[] next, int[] ends) {
        int[] parents = new int[graph.nodes()];
        int[] queue = new int[graph.nodes()];
        parents[0] = -1;
        int tail = 1;
        for (int head = 0; head < tail; head++) {
            int rank = queue[head];
            for (int i = first[rank]; i >= 0; i = next[i]) {
                int other = graph.rankAt(ends[i] ^ 1);
                if (other != parents[rank]) {
                    parents[other] = rank;
                    queue[tail++] = other;
                }
            }
        }
        return parents;
    }

    /** Returns the number of links, one less than ranks. */
    @Override
    public int rowsUsed() {
        return links.length;
    }

    @Override
    public int row(int index) {
        return links[index];
    }

    @Override
    public int uses(int index) {
        return 1;
    }

    /** Links from the centre to the rank furthest from it. */
    int depth() {
        return depth;
    }

    /** The tree with the centre as root; of two centres the lower rank. */
    Tree rooted() {
        return Tree.ofParents(parents);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LinkTree tree && Arrays.equals(links, tree.links);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(links);
    }
}
