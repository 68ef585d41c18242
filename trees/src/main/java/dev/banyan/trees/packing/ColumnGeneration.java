package dev.banyan.trees.packing;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Packs the cheapest tree under the prices of what is packed, again and again, until no tree costs less
 * than 1: the packing is optimal then. Deterministic. Not safe for use from several threads at once.
 */
final class ColumnGeneration {
    private static final double TOLERANCE = 1e-10;
    private static final double PRICES_TO_ONE = 1L << 40;
    /** Few bits, which leaves ties to choose from. */
    private static final long SECOND_PRICES_TO_ONE = 1L << 7;

    private final PricedPaths paths;
    private final Wires wires;
    private final long[] wholePrices;
    private final long searchCost;
    private final Set<TreeShape> found = new LinkedHashSet<>();

    ColumnGeneration(PricedPaths paths) {
        this.paths = paths;
        wires = paths.wires();
        wholePrices = new long[wires.count()];
        long nodes = wires.network().nodes();
        searchCost = wires.network().ranks() * (nodes * nodes + wires.network().arcs());
    }

    /** Whether prices are small enough to be the first in {@link #run(TreePricing, PriceBound, Effort)}. */
    boolean canComeFirst(PriceBound prices) {
        return prices.greatest() < paths.greatestPrice() / (4 * SECOND_PRICES_TO_ONE);
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
        PackingSimplex simplex = new PackingSimplex(wires);
        double bound = Double.POSITIVE_INFINITY;
        double[] boundPrices = simplex.prices().clone();
        boolean optimal = false;
        while (!optimal && effort.spend(simplex.stepCost())) {
            if (simplex.dropOverpaid(TOLERANCE)) {
                continue;
            }
            effort.spend(searchCost);
            findPaths(first, simplex.prices());
            TreeShape shape = pricing.cheapest(paths);
            if (shape == null) {
                break;
            }
            RoutedTree tree = new RoutedTree(shape, paths);
            double cost = tree.cost(simplex.prices());
            if (simplex.priceOfAll() < bound * cost) {
                bound = simplex.priceOfAll() / cost;
                boundPrices = simplex.prices().clone();
            }
            optimal = cost >= 1 - TOLERANCE;
            if (!optimal) {
                found.add(shape);
                simplex.enter(tree);
            }
        }
        return new FloatPacking(simplex.basis(), simplex.total(), optimal ? simplex.prices() : boundPrices, optimal);
    }

    private void findPaths(@Nullable PriceBound first, double[] prices) {
        double scale = first == null ? Math.min(PRICES_TO_ONE, paths.greatestPrice() / 2) : SECOND_PRICES_TO_ONE;
        for (int wire = 0; wire < wholePrices.length; wire++) {
            wholePrices[wire] = (first == null ? 0 : first.price(wire) * 2 * SECOND_PRICES_TO_ONE)
                    + Math.round(Math.clamp(prices[wire], 0, 2) * scale);
        }
        paths.find(wholePrices);
    }
}
