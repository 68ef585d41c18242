package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;

/** Trees for an allgather, or a reduce-scatter: each rank is the root of trees that carry its block. */
public final class GatherPacking {
    private GatherPacking() {}

    /** Trees that carry an allgather, at most so many per root. */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking allGather(Network network, int maxTreesPerRoot) {
        throw new UnsupportedOperationException(network.name() + maxTreesPerRoot);
    }

    /** Trees that carry a reduce-scatter, at most so many per root. */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking reduceScatter(Network network, int maxTreesPerRoot) {
        throw new UnsupportedOperationException(network.name() + maxTreesPerRoot);
    }
}
