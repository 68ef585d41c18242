package dev.banyan.trees;

import java.util.List;

/**
 * Trees over the same devices, each with its share of the data.
 *
 * @param trees at least one tree, all of the same size
 * @param shares share of each tree, positive, summing to 1 (within 1e-9)
 */
public record Forest(List<Tree> trees, List<Double> shares) {
    /**
     * @throws IllegalArgumentException if the sizes or the shares are not as said
     */
    public Forest {
        trees = List.copyOf(trees);
        shares = List.copyOf(shares);
        if (trees.isEmpty() || trees.size() != shares.size()) {
            throw new IllegalArgumentException(
                    trees.size() + " trees with " + shares.size() + " shares; each tree needs one");
        }
        double sum = 0;
        for (int i = 0; i < trees.size(); i++) {
            if (trees.get(i).size() != trees.getFirst().size()) {
                throw new IllegalArgumentException(
                        "tree " + i + " spans " + trees.get(i).size() + " devices, tree 0 "
                                + trees.getFirst().size());
            }
            if (!(shares.get(i) > 0)) {
                throw new IllegalArgumentException(
                        "tree " + i + " has share " + shares.get(i) + "; it must be positive");
            }
            sum += shares.get(i);
        }
        if (Math.abs(sum - 1) > 1e-9) {
            throw new IllegalArgumentException("shares sum to " + sum + ", not to 1");
        }
    }

    /** Trees of equal shares. */
    public static Forest equalShares(List<Tree> trees) {
        return new Forest(trees, trees.stream().map(tree -> 1.0 / trees.size()).toList());
    }

    /** Number of devices that every tree spans. */
    public int size() {
        return trees.getFirst().size();
    }
}
