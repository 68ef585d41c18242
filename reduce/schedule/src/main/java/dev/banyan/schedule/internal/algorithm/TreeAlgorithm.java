package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;

/** An algorithm that is defined by the trees along which it sends the data; the steps follow from the trees. */
public interface TreeAlgorithm extends CollectiveAlgorithm {
    /**
     * Returns the trees of a collective: reductions go up, broadcasts down.
     *
     * @param root the root, or -1 where the collective has none
     * @return trees over all ranks, whose shares are of all data and sum to 1. Trees of an all_reduce have any
     *     roots, those of reduce and broadcast the given one. For reduce_scatter and all_gather every block is
     *     carried by the trees whose root it belongs to: each rank has at least one, and those of one rank
     *     have 1/n of all shares together
     */
    List<PackedTree> trees(Collective collective, int root);

    @Override
    default Schedule schedule(CollectiveRequest request) {
        return new Lowering(name(), ranks(), request).lower(trees(request.collective(), request.root()));
    }
}
