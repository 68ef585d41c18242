package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Builds trees one after another, each over the links as the earlier ones left them. */
final class TreeSequence {
    private TreeSequence() {}

    /** Returns the penalty if it is one. */
    static double requirePenalty(double penalty) {
        if (!(penalty > 0 && penalty <= 1)) {
            throw new IllegalArgumentException("link usage penalty " + penalty + "; it must be above 0 and at most 1 (1: none)");
        }
        return penalty;
    }

    /** One tree per root; where the builder finds none, the shallow one. */
    static Forest generate(LinkMatrix matrix, double penalty, int[] roots, Function<LinkUse, TreeBuilder> builders) {
        if (roots.length == 0) {
            throw new IllegalArgumentException("no root given; a forest needs at least one tree");
        }
        for (int root : roots) {
            if (root < 0 || root >= matrix.size()) {
                throw new IllegalArgumentException("root " + root + " is not one of the " + matrix.size() + " devices 0.."
                        + (matrix.size() - 1));
            }
        }
        LinkUse links = new LinkUse(matrix, penalty, roots.length);
        TreeBuilder builder = builders.apply(links);
        TreeBuilder fallback = new BreadthFirst(links);
        List<Tree> trees = new ArrayList<>(roots.length);
        int[] parents = new int[links.size()];
        for (int root : roots) {
            Arrays.fill(parents, -1);
            if (!builder.build(root, parents)) {
                Arrays.fill(parents, -1);
                fallback.build(root, parents);
            }
            Tree tree = Tree.ofParents(parents);
            links.use(tree);
            trees.add(tree);
        }
        return Forest.equalShares(trees);
    }
}
