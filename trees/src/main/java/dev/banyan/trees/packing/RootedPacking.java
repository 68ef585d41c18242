package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;

/** Trees for a broadcast from a root, or a reduction to it. */
public final class RootedPacking {
    private RootedPacking() {}

    /** Trees that carry a broadcast from the root, at most so many. */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking broadcast(Network network, int root, int maxTrees) {
        throw new UnsupportedOperationException(network.name() + root + maxTrees);
    }

    /** Trees that carry a reduction to the root, at most so many. */
    @SuppressWarnings("DoNotCallSuggester") // until it is built
    public static TreePacking reduce(Network network, int root, int maxTrees) {
        throw new UnsupportedOperationException(network.name() + root + maxTrees);
    }
}
