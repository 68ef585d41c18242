package dev.banyan.trees.packing;

import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;

/**
 * Trees for an allreduce: each carries a share of the data up to its root and the sum back down.
 *
 * <p>Direct links that are equally wide both ways: SpanningTreePacking. One switch between all devices: {@link
 * StarPacking}. Anything else (several hubs, hubs beside direct links, relays, uneven links): a linear program, HubPacking. {@link AllReduceBound} says why nothing can be faster where the first two apply.
 */
public final class AllReducePacking {
    private AllReducePacking() {}

    /** The optimal packing. */
    public static TreePacking of(Network network) {
        return of(network, Integer.MAX_VALUE);
    }

    /**
     * The best packing found of at most so many trees.
     *
     * @param maxTrees at least 1
     * @throws IllegalArgumentException if {@code maxTrees} is less than 1
     */
    public static TreePacking of(Network network, int maxTrees) {
        if (maxTrees < 1) {
            throw new IllegalArgumentException("at most " + maxTrees + " trees are asked for; allow at least 1");
        }
        if (AllReduceBound.isOneSwitch(network)) {
            return StarPacking.of(network, maxTrees);
        }
        throw new UnsupportedOperationException("no packing through the hubs of " + network.name() + " yet");
    }
}
