package dev.banyan.trees.network;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The path that a transfer between two ranks takes where no plan says otherwise: fewest hops, all of them
 * between forwarders but for the ends; the widest of these where several are as short, and then the one
 * that comes first in the order of nodes. O(n (nodes + arcs)) once; a look-up is O(hops). Immutable and safe
 * for use from any thread.
 */
public final class Detours {
    private final int nodes;
    /** By rank and node: the node before it on the path from the rank, or -1. */
    private final int[] before;

    /** Finds the paths between all ranks of a network. */
    public Detours(Network network) {
        this(network, arc -> true);
    }

    /**
     * Finds the paths between all ranks over some arcs of a network.
     *
     * @param isTaken whether paths may take an arc
     */
    public Detours(Network network, IntPredicate isTaken) {
        nodes = network.nodes();
        before = new int[network.ranks() * nodes];
        Arrays.fill(before, -1);
        for (int rank = 0; rank < network.ranks(); rank++) {
            search(network, rank, isTaken);
        }
    }

    private void search(Network network, int rank, IntPredicate isTaken) {
        int[] hops = new int[nodes];
        long[] width = new long[nodes];
        int[] queue = new int[nodes];
        Arrays.fill(hops, Integer.MAX_VALUE);
        hops[rank] = 0;
        width[rank] = Long.MAX_VALUE;
        queue[0] = rank;
        int tail = 1;
        for (int head = 0; head < tail; head++) {
            int node = queue[head];
            if (node != rank && node < network.ranks()) {
                continue;
            }
            for (int arc = network.firstOut(node); arc < network.firstOut(node + 1); arc++) {
                int next = network.to(arc);
                long through = Math.min(width[node], network.capacity(arc));
                if (!isTaken.test(arc)) {
                    continue;
                }
                if (hops[next] == Integer.MAX_VALUE) {
                    hops[next] = hops[node] + 1;
                    queue[tail++] = next;
                } else if (hops[next] <= hops[node] || through <= width[next]) {
                    continue;
                }
                width[next] = through;
                before[rank * nodes + next] = node;
            }
        }
    }

    /** Nodes of the path from one rank to another, both included, or null where there is none. */
    public @Nullable List<Integer> path(int from, int to) {
        if (from != to && before[from * nodes + to] < 0) {
            return null;
        }
        List<Integer> path = new ArrayList<>();
        for (int node = to; node != from; node = before[from * nodes + node]) {
            path.add(node);
        }
        path.add(from);
        return List.copyOf(path.reversed());
    }
}
