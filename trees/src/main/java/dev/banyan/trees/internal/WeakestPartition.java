package dev.banyan.trees.internal;

import dev.banyan.topology.internal.DisjointSets;
import java.util.Arrays;

/**
 * The weakest partition of a graph: the partition P of its nodes with the least w(P) - t (|P| - 1), w(P) being the
 * capacity of the links between its parts. That is below 0 if and only if the links can't carry spanning trees of total
 * weight t (Nash-Williams, Tutte).
 *
 * <p>Fills the links as far as a forest of weight t can: for every set S of nodes, at most t (|S| - 1)
 * within it. That is a polymatroid, so being greedy is right. One node is added after the other, with the
 * links to the nodes before it. What is filled is directed, so that at most t enters any node, and nothing
 * the node just added: hence a flow from that node finds how much its links take, by turning around what
 * was filled before. O(n) flows, most of which are short.
 *
 * <p>Sources: W. H. Cunningham, "Optimal attack and reinforcement of a network", JACM 32(3), 1985,
 * doi:10.1145/3828.3829; one flow per node: F. Barahona, "Separating from the dominant of the spanning tree
 * polytope", Oper. Res. Lett. 12(4), 1992, doi:10.1016/0167-6377(92)90045-5; flows as orientations: H. N.
 * Gabow, "Algorithms for graphic polymatroids and parametric s-sets", J. Algorithms 26(1), 1998,
 * doi:10.1006/jagm.1997.0904.
 *
 * <p>A run allocates nothing. Not safe for use from several threads at once.
 */
public final class WeakestPartition {
    private final DuplexLinks links;
    private final int nodes;
    /** Links are seen from their ends; the places of the ends at a node follow each other. */
    private final int[] firstPlace;
    /** By place: the node at the other end. */
    private final int[] neighbour;
    /** By place: the place of the other end. */
    private final int[] mate;
    /** By place: what enters the node there by the link and may be turned around to enter the neighbour. */
    private final long[] movable;
    /** By node: what may still enter it. */
    private final long[] spare;

    /** By node: the capacity to the nodes that were added, or less than 0 once it was added itself. */
    private final long[] attached;

    private final int[] order;
    private final DisjointSets parts;
    /** By node: its level of the last search if that is at least {@link #base}; older searches have lower levels. */
    private final int[] level;

    private int base;
    /** The nodes that the last search found. */
    private final int[] queue;

    private int found;
    /** By node: the place from which the last search came. */
    private final int[] via;

    /** For the links of a graph; capacities are given for each run. */
    public WeakestPartition(DuplexLinks links) {
        this.links = links;
        nodes = links.nodes();
        int ends = 2 * links.links();
        firstPlace = new int[nodes + 1];
        for (int node = 0; node <= nodes; node++) {
            firstPlace[node] = links.firstEnd(node);
        }
        int[] placeOf = new int[ends];
        for (int place = 0; place < ends; place++) {
            placeOf[links.end(place)] = place;
        }
        neighbour = new int[ends];
        mate = new int[ends];
        for (int place = 0; place < ends; place++) {
            neighbour[place] = links.neighbour(place);
            mate[place] = placeOf[links.end(place) ^ 1];
        }
        movable = new long[ends];
        spare = new long[nodes];
        attached = new long[nodes];
        order = new int[nodes];
        parts = new DisjointSets(nodes);
        level = new int[nodes];
        queue = new int[nodes];
        via = new int[nodes];
    }

    /**
     * Finds the weakest partition; {@link #part} returns its parts.
     *
     * @param capacity by link, at least 0; their sum is below 2^62
     * @param t at least 0; t (n - 1) is below 2^62
     * @return the least w(P) - t (|P| - 1); at most 0, the value of one part alone
     */
    public long find(long[] capacity, long t) {
        Arrays.fill(movable, 0);
        Arrays.fill(attached, 0);
        parts.separate();
        long filled = 0;
        int joined = 0;
        for (int step = 0; step < nodes; step++) {
            int node = mostAttached();
            order[step] = node;
            attached[node] = -1;
            int end = firstPlace[node + 1];
            for (int place = firstPlace[node]; place < end; place++) {
                int other = neighbour[place];
                long most = capacity[links.end(place) >> 1];
                if (attached[other] < 0) {
                    movable[place] = most;
                } else {
                    attached[other] += most;
                }
            }
            long room = t * step - filled;
            long flow = flow(node, room);
            filled += flow;
            if (flow == room) {
                // All that may be filled: these nodes are one part.
                for (; joined <= step; joined++) {
                    parts.union(order[joined], order[0]);
                }
            } else {
                for (int i = 1; i < found; i++) {
                    parts.union(queue[i], node);
                }
            }
            Arrays.fill(movable, firstPlace[node], end, 0);
            spare[node] = t;
        }
        return filled - t * (nodes - 1);
    }

    /** The part that a node is in after a run: one of its nodes, the same for all of them. */
    public int part(int node) {
        return parts.find(node);
    }

    /** Well attached nodes first keep flows short. */
    private int mostAttached() {
        int best = 0;
        for (int node = 1; node < nodes; node++) {
            if (attached[node] > attached[best]) {
                best = node;
            }
        }
        return best;
    }

    /** Shortest augmenting paths from a node to all that may still be entered. */
    private long flow(int source, long limit) {
        long total = 0;
        while (total < limit) {
            int open = search(source);
            if (open == found) {
                return total;
            }
            for (int i = open; i < found && total < limit; i++) {
                if (spare[queue[i]] > 0) {
                    total += push(source, queue[i], limit - total);
                }
            }
        }
        return total;
    }

    /** Returns the position in the queue of the nearest node that may be entered; {@link #found} if there is none. */
    private int search(int source) {
        if (base > Integer.MAX_VALUE - 2 * nodes) {
            Arrays.fill(level, 0);
            base = 0;
        }
        base += nodes;
        level[source] = base;
        queue[0] = source;
        found = 1;
        int last = Integer.MAX_VALUE;
        int open = -1;
        for (int head = 0; head < found && level[queue[head]] < last; head++) {
            int node = queue[head];
            int below = level[node] + 1;
            int end = firstPlace[node + 1];
            for (int place = firstPlace[node]; place < end; place++) {
                int next = neighbour[place];
                if (level[next] < base && movable[place] > 0) {
                    level[next] = below;
                    via[next] = place;
                    if (spare[next] > 0 && open < 0) {
                        last = below;
                        open = found;
                    }
                    queue[found++] = next;
                }
            }
        }
        return open < 0 ? found : open;
    }

    /** Pushes along the path that the search found. */
    private long push(int source, int sink, long limit) {
        long amount = Math.min(limit, spare[sink]);
        for (int node = sink; node != source; node = neighbour[mate[via[node]]]) {
            amount = Math.min(amount, movable[via[node]]);
        }
        if (amount > 0) {
            for (int node = sink; node != source; node = neighbour[mate[via[node]]]) {
                movable[via[node]] -= amount;
                movable[mate[via[node]]] += amount;
            }
            spare[sink] -= amount;
        }
        return amount;
    }
}
