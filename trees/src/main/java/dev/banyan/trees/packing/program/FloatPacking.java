package dev.banyan.trees.packing.program;

/** What {@link ColumnGeneration} found, up to rounding. Immutable. */
final class FloatPacking {
    /** Above what the capacities raised by {@link PackingSimplex} can bring about. */
    private static final double NEXT_TO_NOTHING = 1e-6;

    private final Basis basis;
    private final double total;
    private final double[] prices;
    private final boolean optimal;

    FloatPacking(Basis basis, double total, double[] prices, boolean optimal) {
        this.basis = basis;
        this.total = total;
        this.prices = prices.clone();
        this.optimal = optimal;
    }

    Basis basis() {
        return basis;
    }

    /** Sum of all amounts, in widest capacities. */
    double total() {
        return total;
    }

    /** Amount of a tree over all of its paths, in widest capacities; 0 if it is next to none. */
    double amount(TreeShape tree) {
        double sum = 0;
        for (int i = 0; i < basis.trees().size(); i++) {
            sum += basis.trees().get(i).shape().equals(tree) ? basis.amount(i) : 0;
        }
        return sum > NEXT_TO_NOTHING * total ? sum : 0;
    }

    /** Price of a wire: where optimal, that of the basis; else the best known to prove a bound with. */
    double price(int wire) {
        return prices[wire];
    }

    /** Whether the pricing knows no tree that could be added. */
    boolean optimal() {
        return optimal;
    }
}
