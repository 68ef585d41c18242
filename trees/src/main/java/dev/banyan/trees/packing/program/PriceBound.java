package dev.banyan.trees.packing.program;

import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * An exact bound from prices: what all rows cost together over what the cheapest tree costs. Any prices
 * give a valid one. Immutable.
 */
final class PriceBound {
    private final CapacityRows rows;
    private final long[] prices;
    private final long cheapestTree;

    /**
     * Finds the cheapest tree under these prices.
     *
     * @param prices of each row, from 0 to {@link PricedPaths#greatestPrice()}, not all 0
     * @param anyTree the cheapest of all trees
     */
    PriceBound(long[] prices, PricedPaths paths, TreePricing anyTree) {
        rows = paths.rows();
        this.prices = prices.clone();
        paths.find(prices);
        cheapestTree = paths.price(Objects.requireNonNull(anyTree.cheapest(paths), "a network joins all ranks")
                .cost(paths));
    }

    /** Returns whether the cheapest tree costs anything; else there is no bound. */
    boolean bounds() {
        return cheapestTree > 0;
    }

    /** Price of a row. */
    long price(int row) {
        return prices[row];
    }

    /** The greatest of the prices. */
    long greatest() {
        return Arrays.stream(prices).max().orElseThrow();
    }

    /** Algbw in units of the network. */
    BigFraction units() {
        BigInteger sum = BigInteger.ZERO;
        for (int row = 0; row < prices.length; row++) {
            sum = sum.add(BigInteger.valueOf(prices[row]).multiply(BigInteger.valueOf(rows.capacity(row))));
        }
        return BigFraction.of(sum, BigInteger.valueOf(cheapestTree));
    }

    /** Finds the cheapest paths under these prices again. */
    void findPaths(PricedPaths paths) {
        paths.find(prices);
    }

    /** Returns whether no tree is cheaper than this one under the prices that {@link #findPaths} set. */
    boolean isCheapest(TreeShape tree, PricedPaths paths) {
        return paths.price(tree.cost(paths)) == cheapestTree;
    }

    /** The bound with its certificate: where a row is a link, each of its arcs has half its price. */
    Bound bound() {
        Network network = rows.network();
        BigInteger whole = BigInteger.valueOf(cheapestTree).multiply(BigInteger.valueOf(rows.areLinks() ? 2 : 1));
        Map<Integer, BigFraction> byArc = new TreeMap<>();
        for (int arc = 0; arc < network.arcs(); arc++) {
            long price = prices[rows.ofArc(arc)];
            if (price > 0) {
                byArc.put(arc, BigFraction.of(BigInteger.valueOf(price), whole));
            }
        }
        return new Bound(units().multiply(network.unitGbs()), new Certificate.Prices(byArc));
    }
}
