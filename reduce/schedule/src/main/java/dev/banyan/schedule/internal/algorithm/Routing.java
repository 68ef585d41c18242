package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** Trees for any root; a rank's block goes along the trees that have the rank as their root. */
interface Routing {
    /** Returns the trees, of any roots, for data whose result every rank receives; their shares sum to 1. */
    List<PackedTree> anyRoot();

    /** Returns the trees for data that goes to or comes from one rank, their root; their shares sum to 1. */
    List<PackedTree> rootedAt(int root);

    /** Returns the trees as {@link TreeAlgorithm#trees} does. */
    default List<PackedTree> trees(Collective collective, int root, int ranks) {
        return switch (collective) {
            case ALL_REDUCE -> anyRoot();
            case REDUCE, BROADCAST -> rootedAt(root);
            case REDUCE_SCATTER, ALL_GATHER -> {
                BigFraction block = BigFraction.of(1, ranks);
                yield IntStream.range(0, ranks)
                        .boxed()
                        .flatMap(owner -> rootedAt(owner).stream())
                        .map(tree -> new PackedTree(tree.share().multiply(block), tree.up(), tree.down()))
                        .toList();
            }
        };
    }
}
