package dev.banyan.trees.packing.branching;

import dev.banyan.trees.Tree;
import java.util.Arrays;
import java.util.BitSet;

/** Equal out-trees that grow together until they reach every rank. */
final class PartialTree {
    private final int[] parents;
    private final int[] depths;
    /** Ranks reached, the nearest to the root first. */
    private final int[] order;

    private final BitSet members;
    private int size;
    private int head;
    private long count;

    /** Trees of a root alone. */
    PartialTree(int ranks, int root, long count) {
        parents = new int[ranks];
        Arrays.fill(parents, -1);
        depths = new int[ranks];
        order = new int[ranks];
        members = new BitSet(ranks);
        order[0] = root;
        size = 1;
        members.set(root);
        this.count = count;
    }

    private PartialTree(PartialTree other, long count) {
        parents = other.parents.clone();
        depths = other.depths.clone();
        order = other.order.clone();
        members = (BitSet) other.members.clone();
        size = other.size;
        head = other.head;
        this.count = count;
    }

    /** Takes some of the trees away, as partial trees of their own. */
    PartialTree split(long others) {
        count -= others;
        return new PartialTree(this, others);
    }

    void add(int parent, int rank) {
        parents[rank] = parent;
        depths[rank] = depths[parent] + 1;
        members.set(rank);
        int at = size++;
        while (depths[order[at - 1]] > depths[rank]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = rank;
        head = Math.min(head, at);
    }

    long count() {
        return count;
    }

    int size() {
        return size;
    }

    int root() {
        return order[0];
    }

    boolean complete() {
        return size == parents.length;
    }

    /** Ranks reached; not to be changed. */
    BitSet members() {
        return members;
    }

    /** The i-th rank reached, in the order of depth. */
    int member(int i) {
        return order[i];
    }

    /** Index of the first rank from which the trees may still grow. */
    int head() {
        return head;
    }

    /** Depth of that rank. */
    int headDepth() {
        return depths[order[head]];
    }

    /** Notes that the trees can't grow from that rank any more. */
    void exhaustHead() {
        head++;
    }

    Branching branching() {
        return new Branching(Tree.ofParents(parents), count);
    }
}
