package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;

/** Trees for an allreduce. */
public final class AllReducePacking {
    private AllReducePacking() {}

    /** The optimal packing. */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking of(Network network) {
        return of(network, Integer.MAX_VALUE);
    }

    /**
     * The best packing found of at most so many trees.
     *
     * @param maxTrees at least 1
     */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking of(Network network, int maxTrees) {
        throw new UnsupportedOperationException(network.name() + maxTrees);
    }
}
