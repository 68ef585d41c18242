package dev.banyan.trees.packing.program;

import java.util.List;

/**
 * A few trees, and the best packing that can be made of them alone, with any paths.
 *
 * @param trees without those that the packing does not use
 * @param packing up to rounding
 */
record TreeSelection(List<TreeShape> trees, FloatPacking packing) {
    TreeSelection {
        trees = List.copyOf(trees);
    }

    /** The trees of a packing. */
    static TreeSelection of(FloatPacking packing) {
        return new TreeSelection(
                packing.trees().stream()
                        .map(RoutedTree::shape)
                        .distinct()
                        .filter(tree -> packing.amount(tree) > 0)
                        .toList(),
                packing);
    }

    /** The best packing of some trees. */
    static TreeSelection of(List<TreeShape> trees, ColumnGeneration generation, Effort effort) {
        return of(generation.run(new GivenTrees(trees), effort));
    }

    double total() {
        return packing.total();
    }

    int depth() {
        return trees.stream().mapToInt(TreeShape::depth).max().orElse(0);
    }

    int size() {
        return trees.size();
    }
}
