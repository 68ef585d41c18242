package dev.banyan.schedule.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import dev.banyan.trees.packing.branching.GatherPacking;
import dev.banyan.trees.packing.branching.RootedPacking;

/**
 * Makes packed trees. Implementations are safe for use from any thread and give equal packings for the same arguments.
 */
@FunctionalInterface
public interface Packings {
    /**
     * Makes the packing of a collective, whose trees {@link TreeAlgorithm#trees} describes.
     *
     * @param root the root, or -1 where the collective has none
     */
    TreePacking packing(Collective collective, int root);

    /** Returns the best packings of a network; every call makes them anew. */
    static Packings best(Network network) {
        return best(network, Integer.MAX_VALUE);
    }

    /**
     * Returns the best packings of a network with few trees; every call makes them anew.
     *
     * @param maxTrees the greatest number of trees, of reduce_scatter and all_gather of those of one root; at least 1
     */
    static Packings best(Network network, int maxTrees) {
        return (collective, root) -> switch (collective) {
            case ALL_REDUCE -> AllReducePacking.of(network, maxTrees);
            case REDUCE -> RootedPacking.reduce(network, root, maxTrees);
            case BROADCAST -> RootedPacking.broadcast(network, root, maxTrees);
            case REDUCE_SCATTER -> GatherPacking.reduceScatter(network, maxTrees);
            case ALL_GATHER -> GatherPacking.allGather(network, maxTrees);
        };
    }
}
