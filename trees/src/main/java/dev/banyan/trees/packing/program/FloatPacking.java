package dev.banyan.trees.packing.program;

import dev.banyan.trees.internal.Basis;
import dev.banyan.trees.internal.PackingSimplex;
import java.util.List;

/**
 * A packing up to rounding, and the basis of the linear program that it comes from: as many trees as rows that they
 * fill. Immutable.
 */
final class FloatPacking {
    /** Above what the capacities raised by {@link PackingSimplex} can bring about. */
    private static final double NEXT_TO_NOTHING = 1e-6;

    private final Basis<RoutedTree> basis;
    private final double[] prices;
    private final boolean optimal;
    private final double total;
    private final List<TreeShape> shapes;

    /**
     * @param prices by row: where optimal, those of the basis; else the best known to prove a bound with
     * @param optimal whether the pricing knows no tree that could be added
     */
    FloatPacking(Basis<RoutedTree> basis, double[] prices, boolean optimal) {
        this.basis = basis;
        this.prices = prices.clone();
        this.optimal = optimal;
        total = basis.total();
        shapes = basis.columns().stream()
                .map(RoutedTree::shape)
                .distinct()
                .filter(shape -> amount(shape) > 0)
                .toList();
    }

    Basis<RoutedTree> basis() {
        return basis;
    }

    /** Sum of all amounts, in widest capacities. */
    double total() {
        return total;
    }

    /** Amount of a tree over all of its paths, in widest capacities; 0 if it is next to none. */
    double amount(TreeShape tree) {
        double sum = 0;
        for (int i = 0; i < basis.columns().size(); i++) {
            sum += basis.columns().get(i).shape().equals(tree) ? basis.amount(i) : 0;
        }
        return sum > NEXT_TO_NOTHING * total ? sum : 0;
    }

    /** The trees without paths, but for those of next to no amount. */
    List<TreeShape> shapes() {
        return shapes;
    }

    /** Greatest depth of a tree. */
    int depth() {
        return shapes.stream().mapToInt(TreeShape::depth).max().orElse(0);
    }

    double price(int row) {
        return prices[row];
    }

    boolean optimal() {
        return optimal;
    }
}
