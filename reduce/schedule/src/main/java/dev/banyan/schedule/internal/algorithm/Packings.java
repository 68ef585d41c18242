package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import dev.banyan.trees.packing.branching.GatherPacking;
import dev.banyan.trees.packing.branching.RootedPacking;
import java.util.function.IntFunction;

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
        return byTrees(network).apply(Integer.MAX_VALUE);
    }

    /**
     * Returns a function from the greatest number of trees, of reduce_scatter and all_gather of those of one root, to
     * the best packings of a network. Every call makes packings anew, but for what those of an allreduce have in
     * common.
     */
    static IntFunction<Packings> byTrees(Network network) {
        IntFunction<TreePacking> allReduce = AllReducePacking.byTrees(network);
        return maxTrees -> (collective, root) -> switch (collective) {
            case ALL_REDUCE -> allReduce.apply(maxTrees);
            case REDUCE -> RootedPacking.reduce(network, root, maxTrees);
            case BROADCAST -> RootedPacking.broadcast(network, root, maxTrees);
            case REDUCE_SCATTER -> GatherPacking.reduceScatter(network, maxTrees);
            case ALL_GATHER -> GatherPacking.allGather(network, maxTrees);
        };
    }
}
