package dev.banyan.trees.packing.program;

import dev.banyan.trees.network.Network;
import java.util.Arrays;

/**
 * The cheapest path between every two ranks through forwarders when each row has a price; of paths that
 * cost the same, one with the fewest hops. Dijkstra's algorithm from each rank, with forwarders searched
 * linearly for the next: O(n (f^2 + arcs)) for n ranks and f forwarders.
 *
 * <p>Prices are whole numbers, so that costs are exact and ties are seen. Made once per network and used for
 * any number of prices. Not safe for use from several threads at once.
 */
final class PricedPaths {
    /** More than any path costs. */
    static final long NONE = Long.MAX_VALUE / 2;

    private final CapacityRows rows;
    private final Network network;
    private final int ranks;
    private final int nodes;
    /** Hops of a pair of trees are fewer than this. */
    private final long hopsPerPrice;

    private final long[] arcPrice;
    private final long[] cost;
    private final int[] arcInto;
    private final long[] reached;
    private final boolean[] done;

    PricedPaths(CapacityRows rows) {
        this.rows = rows;
        network = rows.network();
        ranks = network.ranks();
        nodes = network.nodes();
        hopsPerPrice = 2L * ranks * (nodes - ranks + 1) + 1;
        arcPrice = new long[network.arcs()];
        cost = new long[ranks * ranks];
        arcInto = new int[ranks * nodes];
        reached = new long[nodes];
        done = new boolean[nodes];
    }

    CapacityRows rows() {
        return rows;
    }

    /** Elementary operations that {@link #find} takes, roughly. */
    long operations() {
        long forwarders = (long) nodes - ranks;
        return ranks * (forwarders * forwarders + arcPrice.length);
    }

    /** Returns the factor that makes whole numbers of prices of about 1; twice as much is no more than the greatest. */
    double scale() {
        return Math.min(0x1p40, greatestPrice() / 2.0);
    }

    /** Prices up to this never overflow. */
    long greatestPrice() {
        return (1L << 61) / hopsPerPrice / hopsPerPrice;
    }

    /**
     * Finds the paths.
     *
     * @param prices price of each row, from 0 to {@link #greatestPrice()}
     */
    void find(long[] prices) {
        for (int arc = 0; arc < arcPrice.length; arc++) {
            arcPrice[arc] = prices[rows.ofArc(arc)] * hopsPerPrice + 1;
        }
        for (int rank = 0; rank < ranks; rank++) {
            search(rank);
        }
    }

    private void search(int rank) {
        Arrays.fill(reached, NONE);
        Arrays.fill(done, false);
        reached[rank] = 0;
        done[rank] = true;
        relax(rank, rank);
        for (int next = nearest(); next >= 0; next = nearest()) {
            done[next] = true;
            relax(rank, next);
        }
        System.arraycopy(reached, 0, cost, rank * ranks, ranks);
    }

    private int nearest() {
        int nearest = -1;
        for (int node = ranks; node < nodes; node++) {
            if (!done[node] && reached[node] < NONE && (nearest < 0 || reached[node] < reached[nearest])) {
                nearest = node;
            }
        }
        return nearest;
    }

    private void relax(int rank, int node) {
        for (int arc = network.firstOut(node); arc < network.firstOut(node + 1); arc++) {
            int next = network.to(arc);
            long through = reached[node] + arcPrice[arc];
            if (through < reached[next] && !done[next]) {
                reached[next] = through;
                arcInto[rank * nodes + next] = arc;
            }
        }
    }

    /**
     * Returns the cost of a transfer from one rank to another, {@link #NONE} if there is no path. Costs may be added
     * and compared: less is cheaper, or as cheap with fewer hops.
     */
    long cost(int from, int to) {
        return cost[from * ranks + to];
    }

    /** The price in a sum of costs. */
    long price(long sum) {
        return sum / hopsPerPrice;
    }

    /** Arcs of the cheapest path, in order. */
    int[] path(int from, int to) {
        int hops = 0;
        for (int node = to; node != from; node = network.from(arcInto[from * nodes + node])) {
            hops++;
        }
        int[] arcs = new int[hops];
        for (int node = to; node != from; ) {
            int arc = arcInto[from * nodes + node];
            arcs[--hops] = arc;
            node = network.from(arc);
        }
        return arcs;
    }
}
