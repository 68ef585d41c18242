package dev.banyan.trees.packing.branching;

import dev.banyan.trees.internal.MaxFlow;
import dev.banyan.trees.network.Network;
import java.math.BigInteger;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * A network in the widest unit of bandwidth with which so many trees from each root fit, one unit each;
 * capacities are rounded down to whole units. The unit is a capacity divided by a whole number; for each
 * capacity the least such number is found by doubling and halving, with one flow per rank for each try (as
 * for the fixed number of trees per root of L. Zhao et al., "ForestColl", 2024, arXiv:2402.06787). Used once,
 * by one thread.
 */
final class CoarseUnits {
    private final Network network;
    private final Spread spread;
    private final long count;
    private final MaxFlow flow;

    private CoarseUnits(Network network, Spread spread, int count) {
        this.network = network;
        this.spread = spread;
        this.count = count;
        flow = MaxFlow.of(network);
        for (int root : spread.roots()) {
            flow.addArc(network.nodes(), root, count);
        }
    }

    /**
     * @param count trees from each root, at least 1
     */
    static Network of(Network network, Spread spread, int count) {
        return new CoarseUnits(network, spread, count).search();
    }

    private Network search() {
        long dividend = 0;
        long divisor = 1;
        for (long capacity : LongStream.range(0, network.arcs())
                .map(arc -> network.capacity((int) arc))
                .distinct()
                .sorted()
                .toArray()) {
            // the greatest number that still gives a wider unit than the best
            long few = dividend == 0 ? Long.MAX_VALUE : lastAbove(capacity, dividend, divisor);
            if (few > 0 && (dividend == 0 || fits(capacity, few))) {
                divisor = least(capacity, few);
                dividend = capacity;
            }
        }
        long[] whole = new long[network.arcs()];
        for (int arc = 0; arc < whole.length; arc++) {
            whole[arc] = units(network.capacity(arc), dividend, divisor);
        }
        return network.withCapacities(
                whole, network.unitGbs().multiply(BigInteger.valueOf(dividend)).divide(BigInteger.valueOf(divisor)));
    }

    private static long lastAbove(long capacity, long dividend, long divisor) {
        BigInteger product = BigInteger.valueOf(capacity).multiply(BigInteger.valueOf(divisor));
        return product.subtract(BigInteger.ONE)
                .divide(BigInteger.valueOf(dividend))
                .longValueExact();
    }

    private long least(long capacity, long most) {
        long enough = 1;
        while (enough < most && !fits(capacity, enough)) {
            enough *= 2;
        }
        enough = Math.min(enough, most);
        long few = enough / 2;
        while (enough - few > 1) {
            long middle = few + (enough - few) / 2;
            if (fits(capacity, middle)) {
                enough = middle;
            } else {
                few = middle;
            }
        }
        return enough;
    }

    private boolean fits(long dividend, long divisor) {
        for (int arc = 0; arc < network.arcs(); arc++) {
            flow.setCapacity(arc, units(network.capacity(arc), dividend, divisor));
        }
        long needed = Math.multiplyExact(count, spread.roots().size());
        return IntStream.range(0, network.ranks()).allMatch(rank -> flow.run(network.nodes(), rank, needed) == needed);
    }

    /** Whole units of {@code dividend / divisor} in a capacity; more than are ever needed count as just those. */
    private long units(long capacity, long dividend, long divisor) {
        BigInteger units = BigInteger.valueOf(capacity)
                .multiply(BigInteger.valueOf(divisor))
                .divide(BigInteger.valueOf(dividend));
        return units.min(BigInteger.valueOf(
                        Math.multiplyExact(count, spread.roots().size())))
                .longValueExact();
    }
}
