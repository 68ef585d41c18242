package dev.banyan.trees.packing.program;

import dev.banyan.trees.network.Network;
import java.util.Arrays;

/**
 * The capacities that limit an allreduce, with one row of the linear program for each. On a network that is equally
 * wide both ways a row is a link, because a tree that carries the reduction up and the broadcast down loads both its
 * arcs alike; else each arc is a row. Immutable.
 */
final class CapacityRows {
    private final Network network;
    private final int[] row;
    private final long[] capacity;

    CapacityRows(Network network) {
        this.network = network;
        row = new int[network.arcs()];
        int count = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            boolean second = network.symmetric() && network.reverse(arc) < arc;
            row[arc] = second ? row[network.reverse(arc)] : count++;
        }
        capacity = new long[count];
        for (int arc = 0; arc < network.arcs(); arc++) {
            capacity[row[arc]] = network.capacity(arc);
        }
    }

    Network network() {
        return network;
    }

    /** Returns whether each row is a link, not an arc. */
    boolean areLinks() {
        return network.symmetric();
    }

    int count() {
        return capacity.length;
    }

    int ofArc(int arc) {
        return row[arc];
    }

    /** Returns the capacity of each row in units of the network, each way. */
    long[] capacities() {
        return capacity.clone();
    }

    /** Capacity in units of the network, each way. */
    long capacity(int row) {
        return capacity[row];
    }

    /** The least of the capacities. */
    long narrowest() {
        return Arrays.stream(capacity).min().orElseThrow();
    }
}
