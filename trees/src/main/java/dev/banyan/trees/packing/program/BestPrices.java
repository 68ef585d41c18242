package dev.banyan.trees.packing.program;

/**
 * The prices that prove the least bound so far. Steps that are led by these and the current prices together
 * are fewer: the current ones alone swing.
 *
 * <p>Source: P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", Int.
 * Trans. in Operational Research 4, 1997, doi:10.1016/S0969-6016(97)00001-4.
 */
final class BestPrices {
    private final CapacityRows rows;
    private final double[] best;
    private final double[] mixed;
    private double bound = Double.POSITIVE_INFINITY;

    /** Begins with prices that are higher the narrower a row is. */
    BestPrices(CapacityRows rows) {
        this.rows = rows;
        best = new double[rows.count()];
        mixed = new double[rows.count()];
        double narrowest = (double) rows.narrowest();
        for (int row = 0; row < best.length; row++) {
            best[row] = narrowest / rows.capacity(row) / rows.network().ranks();
        }
    }

    /**
     * The mean of the best prices and others, those below 0 as 0; overwritten by the next call.
     *
     * @param trust weight of the best prices, 0 to 1
     */
    double[] mixed(double trust, double[] others) {
        for (int row = 0; row < mixed.length; row++) {
            mixed[row] = trust * best[row] + (1 - trust) * Math.max(0, others[row]);
        }
        return mixed;
    }

    /** Takes these prices if they prove less: all capacity at the cheapest tree's price. */
    void offer(double[] prices, double cheapestTree) {
        double sum = 0;
        for (int row = 0; row < best.length; row++) {
            sum += prices[row] * rows.capacity(row);
        }
        if (sum < bound * cheapestTree) {
            bound = sum / cheapestTree;
            for (int row = 0; row < best.length; row++) {
                best[row] = prices[row] / cheapestTree;
            }
        }
    }

    /** The best prices, so that the cheapest tree costs 1. */
    double[] prices() {
        return best.clone();
    }
}
