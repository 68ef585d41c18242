package dev.banyan.schedule.plan;

import dev.banyan.schedule.algorithm.Packings;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import java.util.List;
import java.util.Optional;

/**
 * Packings for an allreduce from the trees that earlier processes saved, where bound and rate are found fast; others
 * are made. Safe for use from any thread.
 *
 * @param saved the trees
 * @param network the links
 * @param maxTrees the greatest number of trees of a packing
 * @param source makes packings of at most so many trees
 */
record SavedPackings(SavedPlans saved, Network network, int maxTrees, Packings source) implements Packings {
    @Override
    public TreePacking packing(Collective collective, int root) {
        if (collective != Collective.ALL_REDUCE || !AllReduceBound.applies(network)) {
            return source.packing(collective, root);
        }
        SavedPlans.Packing key = new SavedPlans.Packing(maxTrees, collective, root);
        Optional<List<PackedTree>> trees = saved.trees(key);
        Optional<TreePacking> rated = trees.isPresent() ? rated(trees.get()) : Optional.empty();
        if (rated.isPresent()) {
            return rated.get();
        }
        TreePacking made = source.packing(collective, root);
        saved.put(key, made.trees());
        return made;
    }

    private Optional<TreePacking> rated(List<PackedTree> trees) {
        try {
            return RatedForest.of(trees, network, AllReduceBound.of(network));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // not trees of this network, or not all of the data
        }
    }
}
