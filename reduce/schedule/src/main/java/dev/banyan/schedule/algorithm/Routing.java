package dev.banyan.schedule.algorithm;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.packing.PackedTree;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** Trees that can be had for any root: a rank's block goes the way of what has that rank as its root. */
interface Routing {
    /** Trees of data whose result every rank wants, of any roots; their shares sum to 1. */
    List<PackedTree> anyRoot();

    /** Trees of data whose result is wanted by, or comes from, one rank, their root; their shares sum to 1. */
    List<PackedTree> rootedAt(int root);

    /** What {@link TreeAlgorithm#trees} returns. */
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
