package dev.banyan.trees.internal;

import dev.banyan.trees.network.Network;
import java.util.Arrays;

/**
 * Maximum flow with integer capacities, by blocking flows on level graphs. O(V^2 E) time, far less in
 * practice; a run allocates nothing. Bounds need exact capacities and many thousands of flows, so no library for boxed
 * graphs with floating-point capacities is used.
 *
 * <p>Source: E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
 * estimation", Soviet Math. Doklady 11, 1970.
 *
 * <p>Not safe for use from several threads at once.
 */
public final class MaxFlow {
    private final int nodes;
    private int arcs;
    private int[] head;
    private int[] next;
    private long[] capacity;
    private long[] residual;
    private final int[] first;
    private final int[] level;
    private final int[] current;
    private final int[] queue;
    private final int[] path;

    /**
     * A graph without arcs.
     *
     * @param nodes number of nodes; they are 0..nodes-1
     * @param expectedArcs number of arcs for which memory is allocated; more may be added
     */
    public MaxFlow(int nodes, int expectedArcs) {
        this.nodes = nodes;
        head = new int[2 * Math.max(1, expectedArcs)];
        next = new int[head.length];
        capacity = new long[head.length];
        residual = new long[head.length];
        first = new int[nodes];
        Arrays.fill(first, -1);
        level = new int[nodes];
        current = new int[nodes];
        queue = new int[nodes];
        path = new int[nodes];
    }

    /**
     * A graph of the arcs of a network, with their capacities; arc i of it is arc i of the network. It has one more
     * node, {@code network.nodes()}, without arcs: for a source that supplies several ranks.
     */
    public static MaxFlow of(Network network) {
        MaxFlow flow = new MaxFlow(network.nodes() + 1, network.arcs() + network.ranks());
        for (int arc = 0; arc < network.arcs(); arc++) {
            flow.addArc(network.from(arc), network.to(arc), network.capacity(arc));
        }
        return flow;
    }

    /**
     * Adds an arc.
     *
     * @param capacity at least 0; the capacities that leave a source must sum to less than 2^63
     * @return its index: the number of arcs before it
     */
    public int addArc(int from, int to, long capacity) {
        if (2 * arcs == head.length) {
            head = Arrays.copyOf(head, 2 * head.length);
            next = Arrays.copyOf(next, head.length);
            this.capacity = Arrays.copyOf(this.capacity, head.length);
            residual = Arrays.copyOf(residual, head.length);
        }
        int half = 2 * arcs;
        link(half, from, to, capacity);
        link(half + 1, to, from, 0);
        return arcs++;
    }

    private void link(int half, int from, int to, long amount) {
        head[half] = to;
        set(half, amount);
        next[half] = first[from];
        first[from] = half;
    }

    /** Changes the capacity of an arc. */
    public void setCapacity(int arc, long amount) {
        set(2 * arc, amount);
    }

    private void set(int half, long amount) {
        if (amount < 0) {
            throw new IllegalArgumentException(
                    "the capacity of arc " + half / 2 + " is " + amount + "; it must be at least 0");
        }
        capacity[half] = amount;
    }

    /** The greatest flow from a source to a sink. */
    public long run(int source, int sink) {
        return run(source, sink, Long.MAX_VALUE);
    }

    /**
     * The greatest flow from a source to a sink, but no more than a limit.
     *
     * @return the lesser of both
     */
    public long run(int source, int sink, long limit) {
        if (source == sink) {
            throw new IllegalArgumentException("source and sink are both node " + source);
        }
        System.arraycopy(capacity, 0, residual, 0, 2 * arcs);
        long total = 0;
        while (total < limit && findLevels(source, sink)) {
            System.arraycopy(first, 0, current, 0, nodes);
            long pushed = push(source, sink, limit - total);
            while (pushed > 0) {
                total += pushed;
                pushed = total < limit ? push(source, sink, limit - total) : 0;
            }
        }
        return total;
    }

    private boolean findLevels(int source, int sink) {
        Arrays.fill(level, -1);
        level[source] = 0;
        queue[0] = source;
        int tail = 1;
        for (int at = 0; at < tail && level[sink] < 0; at++) {
            int node = queue[at];
            for (int half = first[node]; half >= 0; half = next[half]) {
                if (residual[half] > 0 && level[head[half]] < 0) {
                    level[head[half]] = level[node] + 1;
                    queue[tail++] = head[half];
                }
            }
        }
        return level[sink] >= 0;
    }

    /** One path along the levels, without recursion. */
    private long push(int source, int sink, long limit) {
        int depth = 0;
        int node = source;
        while (node != sink) {
            int half = current[node];
            while (half >= 0 && (residual[half] == 0 || level[head[half]] != level[node] + 1)) {
                half = next[half];
            }
            current[node] = half;
            if (half >= 0) {
                path[depth++] = half;
                node = head[half];
            } else if (depth == 0) {
                return 0;
            } else {
                node = head[path[--depth] ^ 1];
                current[node] = next[current[node]];
            }
        }
        long amount = limit;
        for (int i = 0; i < depth; i++) {
            amount = Math.min(amount, residual[path[i]]);
        }
        for (int i = 0; i < depth; i++) {
            residual[path[i]] -= amount;
            residual[path[i] ^ 1] += amount;
        }
        return amount;
    }

    /** Flow of the last run over an arc. */
    public long flow(int arc) {
        return capacity[2 * arc] - residual[2 * arc];
    }

    /**
     * After a run that no limit cut short: the nodes on the source's side of a minimum cut, the smallest
     * such set; a new array, one entry per node.
     */
    public boolean[] sourceSide() {
        boolean[] side = new boolean[nodes];
        for (int node = 0; node < nodes; node++) {
            side[node] = level[node] >= 0;
        }
        return side;
    }
}
