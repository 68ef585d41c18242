package dev.banyan.trees.packing.program;

/**
 * The prices that prove the least bound so far. Steps that are led by these and the current prices together
 * are fewer: the current ones alone swing.
 *
 * <p>Source: P. Wentges, "Weighted Dantzig-Wolfe decomposition for linear mixed-integer programming", Int.
 * Trans. in Operational Research 4, 1997, doi:10.1016/S0969-6016(97)00001-4.
 */
final class BestPrices {
    private final Wires wires;
    private final double[] best;
    private final double[] mixed;
    private double bound = Double.POSITIVE_INFINITY;

    /** Begins with prices that are higher the narrower a wire is. */
    BestPrices(Wires wires) {
        this.wires = wires;
        best = new double[wires.count()];
        mixed = new double[wires.count()];
        double narrowest = (double) wires.narrowest();
        for (int wire = 0; wire < best.length; wire++) {
            best[wire] = narrowest / wires.capacity(wire) / wires.network().ranks();
        }
    }

    /**
     * The mean of the best prices and others, those below 0 as 0; overwritten by the next call.
     *
     * @param trust weight of the best prices, 0 to 1
     */
    double[] mixed(double trust, double[] others) {
        for (int wire = 0; wire < mixed.length; wire++) {
            mixed[wire] = trust * best[wire] + (1 - trust) * Math.max(0, others[wire]);
        }
        return mixed;
    }

    /** Takes these prices if they prove less: all capacity at the cheapest tree's price. */
    void offer(double[] prices, double cheapestTree) {
        double sum = 0;
        for (int wire = 0; wire < best.length; wire++) {
            sum += prices[wire] * wires.capacity(wire);
        }
        if (sum < bound * cheapestTree) {
            bound = sum / cheapestTree;
            for (int wire = 0; wire < best.length; wire++) {
                best[wire] = prices[wire] / cheapestTree;
            }
        }
    }

    /** The best prices, so that the cheapest tree costs 1. */
    double[] prices() {
        return best.clone();
    }
}
