package dev.banyan.trees.packing.branching;

import dev.banyan.trees.Tree;

/**
 * Some equal out-trees of a packing.
 *
 * @param tree the tree, from its root to all ranks
 * @param count how many units of capacity it takes on each of its arcs, above 0
 */
record Branching(Tree tree, long count) {}
