package dev.banyan.trees.packing;

import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * One tree of a packing.
 *
 * @param share share of all data, above 0, exact
 * @param up the tree that reductions follow from the leaves to the root
 * @param down the tree that broadcasts follow from the root to the leaves, with the same root; the same
 *     tree wherever links are equally wide both ways
 */
public record PackedTree(BigFraction share, Tree up, Tree down) {
    public PackedTree {
        Objects.requireNonNull(share, "share");
        if (share.signum() <= 0) {
            throw new IllegalArgumentException("a tree's share is " + share + "; it must be positive");
        }
        if (up.size() != down.size() || up.root() != down.root()) {
            throw new IllegalArgumentException("trees " + up + " and " + down + " differ in size or root");
        }
    }

    /** The same tree both ways. */
    public static PackedTree of(BigFraction share, Tree tree) {
        return new PackedTree(share, tree, tree);
    }

    /** The trees of a forest; their exact shares are in the forest's proportions and sum to exactly 1. */
    public static List<PackedTree> of(Forest forest) {
        List<BigFraction> shares =
                forest.shares().stream().map(BigFraction::from).toList();
        BigFraction sum = shares.stream().reduce(BigFraction.ZERO, BigFraction::add);
        return IntStream.range(0, shares.size())
                .mapToObj(i -> of(shares.get(i).divide(sum), forest.trees().get(i)))
                .toList();
    }

    /** The rank that holds the whole result of its share in between. */
    public int root() {
        return up.root();
    }

    /** Greatest number of logical links between the root and a rank. */
    public int depth() {
        return Math.max(up.depth(), down.depth());
    }
}
