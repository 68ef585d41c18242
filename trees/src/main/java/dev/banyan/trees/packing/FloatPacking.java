package dev.banyan.trees.packing;

/** What {@link ColumnGeneration} found, up to rounding. Immutable. */
final class FloatPacking {
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

    /** Price of a wire: where optimal, that of the basis; else the best known to prove a bound with. */
    double price(int wire) {
        return prices[wire];
    }

    boolean optimal() {
        return optimal;
    }
}
