package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.Tree;
import dev.banyan.trees.network.DuplexLinks;
import java.util.Arrays;

/** A spanning tree as a set of links, with its centre: the rank from which it is the least deep. Immutable. */
final class LinkTree {
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
        // The centre is in the middle of a longest path, which ends at a rank furthest from any other.
        int start = search(graph, 0, first, next, ends, new int[graph.nodes()]);
        parents = new int[graph.nodes()];
        int end = search(graph, start, first, next, ends, parents);
        int length = 0;
        for (int rank = end; rank != start; rank = parents[rank]) {
            length++;
        }
        depth = (length + 1) / 2;
        int centre = end;
        for (int i = 0; i < length / 2; i++) {
            centre = parents[centre];
        }
        if (length % 2 == 1) {
            centre = Math.min(centre, parents[centre]);
        }
        search(graph, centre, first, next, ends, parents);
    }

    /** Sets the parent of each rank; returns the last rank found, one of the furthest. */
    private static int search(DuplexLinks graph, int from, int[] first, int[] next, int[] ends, int[] parents) {
        int[] queue = new int[parents.length];
        parents[from] = -1;
        queue[0] = from;
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
        return queue[tail - 1];
    }

    /** Number of links, one less than ranks. */
    int size() {
        return links.length;
    }

    /** A link, ascending. */
    int link(int index) {
        return links[index];
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
