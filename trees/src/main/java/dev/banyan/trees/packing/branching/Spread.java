package dev.banyan.trees.packing.branching;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.GatherBound;
import dev.banyan.trees.bound.RootBound;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The data to be carried: equal blocks from each root to all ranks. One root makes a broadcast; all ranks as roots make
 * an all-gather.
 *
 * @param roots one rank, or every rank in order
 */
record Spread(List<Integer> roots) {
    Spread {
        roots = List.copyOf(roots);
    }

    static Spread ofAll(Network network) {
        return new Spread(IntStream.range(0, network.ranks()).boxed().toList());
    }

    /** The greatest rate of all blocks together. */
    Bound bound(Network network) {
        return roots.size() == 1 ? RootBound.broadcast(network, roots.getFirst()) : GatherBound.allGather(network);
    }

    /** The greatest rate of each block, in units of the network's capacities. */
    BigFraction unitsPerRoot(Network network) {
        return bound(network).gbs().divide(network.unitGbs()).divide(roots.size());
    }
}
