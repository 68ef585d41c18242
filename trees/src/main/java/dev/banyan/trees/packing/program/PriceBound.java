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
 * An exact bound from prices: what all wires cost together over what the cheapest tree costs. Any prices
 * give a valid one. Immutable.
 */
final class PriceBound {
    private final Wires wires;
    private final long[] prices;
    private final long cheapestTree;

    /**
     * Finds the cheapest tree under these prices.
     *
     * @param prices of each wire, from 0 to {@link PricedPaths#greatestPrice()}, not all 0
     * @param anyTree the cheapest of all trees
     */
    PriceBound(long[] prices, PricedPaths paths, TreePricing anyTree) {
        wires = paths.wires();
        this.prices = prices.clone();
        paths.find(prices);
        cheapestTree = paths.price(Objects.requireNonNull(anyTree.cheapest(paths), "a network joins all ranks")
                .cost(paths));
    }

    /** Returns whether the cheapest tree costs anything; else there is no bound. */
    boolean bounds() {
        return cheapestTree > 0;
    }

    /** Price of a wire. */
    long price(int wire) {
        return prices[wire];
    }

    /** The greatest of the prices. */
    long greatest() {
        return Arrays.stream(prices).max().orElseThrow();
    }

    /** Algbw in units of the network. */
    BigFraction units() {
        BigInteger sum = BigInteger.ZERO;
        for (int wire = 0; wire < prices.length; wire++) {
            sum = sum.add(BigInteger.valueOf(prices[wire]).multiply(BigInteger.valueOf(wires.capacity(wire))));
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

    /** The bound with its certificate: where a wire is a link, each of its arcs has half its price. */
    Bound bound() {
        Network network = wires.network();
        BigInteger whole = BigInteger.valueOf(cheapestTree).multiply(BigInteger.valueOf(wires.areLinks() ? 2 : 1));
        Map<Integer, BigFraction> byArc = new TreeMap<>();
        for (int arc = 0; arc < network.arcs(); arc++) {
            long price = prices[wires.ofArc(arc)];
            if (price > 0) {
                byArc.put(arc, BigFraction.of(BigInteger.valueOf(price), whole));
            }
        }
        return new Bound(units().multiply(network.unitGbs()), new Certificate.Prices(byArc));
    }
}
