package dev.banyan.trees.packing.program;

import dev.banyan.trees.internal.PackingSimplex;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Packs the cheapest tree under the prices of what is packed, again and again, until no tree costs less
 * than 1: the packing is optimal then. Deterministic. Not safe for use from several threads at once.
 */
final class ColumnGeneration {
    /** Trees are found by prices half-way to the best ones; that took the fewest steps. */
    private static final double TRUST = 0.5;
    /** Few bits, which leaves ties to choose from. */
    private static final int SECOND_PRICES_TO_ONE = 1 << 7;

    private final PricedPaths paths;
    private final CapacityRows rows;
    private final Set<TreeShape> found = new LinkedHashSet<>();

    ColumnGeneration(PricedPaths paths) {
        this.paths = paths;
        rows = paths.rows();
    }

    /** Returns whether prices are small enough to be the first in {@link #run(TreePricing, PriceBound, Effort)}. */
    boolean canComeFirst(PriceBound prices) {
        return prices.greatest() < paths.greatestPrice() / (8 * SECOND_PRICES_TO_ONE);
    }

    /** All trees that were packed once, in the order in which they were found. */
    List<TreeShape> found() {
        return List.copyOf(found);
    }

    /** A packing of any trees that the pricing gives, and the best bound on it. */
    FloatPacking run(TreePricing pricing, Effort effort) {
        return run(pricing, null, effort);
    }

    /**
     * A packing of trees that the pricing gives, the cheapest by given prices if there are any; the prices of
     * what is packed decide between these.
     */
    FloatPacking run(TreePricing pricing, @Nullable PriceBound first, Effort effort) {
        PackingSimplex<RoutedTree> simplex = new PackingSimplex<>(rows.capacities());
        BestPrices best = new BestPrices(rows);
        long operations = paths.operations() + pricing.operations(rows.network().ranks());
        boolean optimal = false;
        while (!optimal && effort.spend(simplex.operations())) {
            if (simplex.dropOverpaid()) {
                continue;
            }
            RoutedTree tree = null;
            for (double trust = TRUST; trust >= 0 && tree == null; trust -= TRUST) {
                effort.spend(operations);
                double[] prices = best.mixed(trust, simplex.prices());
                RoutedTree cheapest = cheapest(pricing, first, prices);
                if (cheapest != null) {
                    best.offer(prices, cheapest.cost(prices));
                    tree = simplex.isWorth(cheapest) ? cheapest : null;
                }
            }
            optimal = tree == null;
            if (tree != null) {
                found.add(tree.shape());
                simplex.enter(tree);
            }
        }
        return new FloatPacking(simplex.basis(), optimal ? simplex.prices() : best.prices(), optimal);
    }

    private @Nullable RoutedTree cheapest(TreePricing pricing, @Nullable PriceBound first, double[] prices) {
        double scale = first == null ? paths.scale() : SECOND_PRICES_TO_ONE;
        long[] whole = new long[rows.count()];
        for (int row = 0; row < whole.length; row++) {
            whole[row] = (first == null ? 0 : first.price(row) * 4 * SECOND_PRICES_TO_ONE)
                    + Math.round(Math.min(prices[row], 2) * scale);
        }
        paths.find(whole);
        TreeShape shape = pricing.cheapest(paths);
        return shape == null ? null : new RoutedTree(shape, paths);
    }
}
