package dev.banyan.trees.packing.program;

import java.util.List;

/**
 * A packing up to rounding, and the basis of the linear program that it comes from: as many trees as wires that they
 * fill. Immutable.
 */
final class FloatPacking {
    /** Above what the capacities raised by {@link PackingSimplex} can bring about. */
    private static final double NEXT_TO_NOTHING = 1e-6;

    private final List<RoutedTree> trees;
    private final double[] amounts;
    private final int[] fullWires;
    private final double[] prices;
    private final boolean optimal;
    private final double total;
    private final List<TreeShape> shapes;

    /**
     * @param amounts by tree, in widest capacities
     * @param fullWires ascending; as many as trees
     * @param prices by wire: where optimal, those of the basis; else the best known to prove a bound with
     * @param optimal whether the pricing knows no tree that could be added
     */
    FloatPacking(List<RoutedTree> trees, double[] amounts, int[] fullWires, double[] prices, boolean optimal) {
        this.trees = List.copyOf(trees);
        this.amounts = amounts.clone();
        this.fullWires = fullWires.clone();
        this.prices = prices.clone();
        this.optimal = optimal;
        double sum = 0;
        for (double amount : amounts) {
            sum += amount;
        }
        total = sum;
        shapes = trees.stream()
                .map(RoutedTree::shape)
                .distinct()
                .filter(shape -> amount(shape) > 0)
                .toList();
    }

    List<RoutedTree> trees() {
        return trees;
    }

    /** Sum of all amounts, in widest capacities. */
    double total() {
        return total;
    }

    /** Amount of a tree of the basis, in widest capacities. */
    double amount(int tree) {
        return amounts[tree];
    }

    /** Amount of a tree over all of its paths, in widest capacities; 0 if it is next to none. */
    double amount(TreeShape tree) {
        double sum = 0;
        for (int i = 0; i < amounts.length; i++) {
            sum += trees.get(i).shape().equals(tree) ? amounts[i] : 0;
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

    /** The wire of a row of the basis: it is full. */
    int fullWire(int row) {
        return fullWires[row];
    }

    double price(int wire) {
        return prices[wire];
    }

    boolean optimal() {
        return optimal;
    }
}
