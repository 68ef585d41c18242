package dev.banyan.reduce.algorithm;

import dev.banyan.trees.Tree;

/**
 * How a share of the data travels: partial results up one tree, whole results down another with the same
 * root.
 *
 * @param share share of the data, positive; only its proportion to the other routes' shares counts
 * @param up the tree that reductions follow, from the leaves to the root
 * @param down the tree that broadcasts follow, from the root to the leaves
 */
record Route(double share, Tree up, Tree down) {
    Route {
        if (up.size() != down.size() || up.root() != down.root()) {
            throw new IllegalArgumentException("routes " + up + " and " + down + " differ in size or root");
        }
    }

    /** The same tree both ways. */
    static Route over(double share, Tree tree) {
        return new Route(share, tree, tree);
    }

    int root() {
        return up.root();
    }
}
