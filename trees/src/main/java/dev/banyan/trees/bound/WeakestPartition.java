package dev.banyan.trees.bound;

import dev.banyan.topology.DisjointSets;
import dev.banyan.trees.network.DuplexLinks;
import java.util.Arrays;

/**
 * Where a graph is weakest: the partition P of its nodes with the least w(P) - t (|P| - 1), w(P) being the
 * capacity of the links between its parts. That is below 0 if and only if the links can't carry spanning
 * trees of total weight t (Nash-Williams, Tutte).
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
    /** By end of a link: what enters the rank there by the link and may be turned around to enter the other. */
    private final long[] movable;
    /** By node: what may still enter it. */
    private final long[] spare;

    private final long[] attached;
    private final boolean[] added;
    private final int[] order;
    private final DisjointSets parts;
    private final int[] level;
    private final int[] queue;
    private final int[] current;
    /** The ends at which the links of the path leave its nodes. */
    private final int[] path;

    /** For the links of a graph; capacities are given for each run. */
    public WeakestPartition(DuplexLinks links) {
        this.links = links;
        nodes = links.nodes();
        movable = new long[2 * links.links()];
        spare = new long[nodes];
        attached = new long[nodes];
        added = new boolean[nodes];
        order = new int[nodes];
        parts = new DisjointSets(nodes);
        level = new int[nodes];
        queue = new int[nodes];
        current = new int[nodes];
        path = new int[nodes];
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
        Arrays.fill(added, false);
        parts.separate();
        long filled = 0;
        int joined = 0;
        for (int step = 0; step < nodes; step++) {
            int node = mostAttached();
            order[step] = node;
            added[node] = true;
            for (int i = links.firstEnd(node); i < links.firstEnd(node + 1); i++) {
                int end = links.end(i);
                int other = links.rankAt(end ^ 1);
                if (added[other]) {
                    movable[end] = capacity[end >> 1];
                } else {
                    attached[other] += capacity[end >> 1];
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
                for (int i = 0; i <= step; i++) {
                    if (level[order[i]] >= 0) {
                        parts.union(order[i], node);
                    }
                }
            }
            for (int i = links.firstEnd(node); i < links.firstEnd(node + 1); i++) {
                movable[links.end(i)] = 0;
            }
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
        int best = -1;
        for (int node = 0; node < nodes; node++) {
            if (!added[node] && (best < 0 || attached[node] > attached[best])) {
                best = node;
            }
        }
        return best;
    }

    /** Dinic's algorithm from a node to all that may still be entered. */
    private long flow(int source, long limit) {
        long total = 0;
        while (total < limit && findLevels(source)) {
            for (int node = 0; node < nodes; node++) {
                current[node] = links.firstEnd(node);
            }
            long pushed = push(source, limit - total);
            while (pushed > 0) {
                total += pushed;
                pushed = total < limit ? push(source, limit - total) : 0;
            }
        }
        return total;
    }

    /** Whether a node that may be entered is in reach; no level beyond the first such one is searched. */
    private boolean findLevels(int source) {
        Arrays.fill(level, -1);
        level[source] = 0;
        queue[0] = source;
        int tail = 1;
        int last = Integer.MAX_VALUE;
        for (int head = 0; head < tail && level[queue[head]] < last; head++) {
            int node = queue[head];
            for (int i = links.firstEnd(node); i < links.firstEnd(node + 1); i++) {
                int end = links.end(i);
                int next = links.rankAt(end ^ 1);
                if (movable[end] > 0 && level[next] < 0) {
                    level[next] = level[node] + 1;
                    queue[tail++] = next;
                    if (spare[next] > 0) {
                        last = level[next];
                    }
                }
            }
        }
        return last < Integer.MAX_VALUE;
    }

    private long push(int source, long limit) {
        int depth = 0;
        int node = source;
        while (node == source || spare[node] == 0) {
            int i = current[node];
            int stop = links.firstEnd(node + 1);
            while (i < stop
                    && (movable[links.end(i)] == 0 || level[links.rankAt(links.end(i) ^ 1)] != level[node] + 1)) {
                i++;
            }
            current[node] = i;
            if (i < stop) {
                path[depth] = links.end(i);
                node = links.rankAt(path[depth++] ^ 1);
            } else if (depth == 0) {
                return 0;
            } else {
                node = links.rankAt(path[--depth]);
                current[node]++;
            }
        }
        long amount = Math.min(limit, spare[node]);
        for (int i = 0; i < depth; i++) {
            amount = Math.min(amount, movable[path[i]]);
        }
        for (int i = 0; i < depth; i++) {
            movable[path[i]] -= amount;
            movable[path[i] ^ 1] += amount;
        }
        spare[node] -= amount;
        return amount;
    }
}
