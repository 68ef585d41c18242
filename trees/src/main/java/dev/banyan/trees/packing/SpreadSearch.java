package dev.banyan.trees.packing;

import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Packs the trees of a spread in several ways, a bounded amount of work, for others to choose from. All of
 * them reach the bound of a network whose forwarders are even. Used once, by one thread.
 */
final class SpreadSearch {
    /** Arcs of flows after which no further way is tried; some milliseconds. */
    private static final long ENOUGH_WORK = 400_000;
    private static final int RANDOM_ORDERS = 6;
    /** Above it, ways that take many more flows are not tried. */
    private static final int FEW_NODES = 20;
    private static final long GREATEST_DIVISION = 1_000_000;
    private static final long GREATEST_TOTAL = 1L << 58;

    private final Spread spread;
    private final List<Candidate> found = new ArrayList<>();
    private long work;

    private SpreadSearch(Spread spread) {
        this.spread = spread;
    }

    /** Trees at the bound, some of them narrow. */
    static List<Candidate> optimal(Network network, Spread spread) {
        SpreadSearch search = new SpreadSearch(spread);
        Network even = EvenForwarders.of(network, spread);
        BigFraction each = spread.unitsPerRoot(even);
        if (each.signum() > 0) {
            long factor = each.getDenominator().longValueExact();
            search.tryAll(even, factor, each.getNumerator().longValueExact(), division(even, factor));
        }
        return search.found;
    }

    /** As many trees as fit, each a whole unit of the network's capacities or more. */
    static List<Candidate> whole(Network network, Spread spread) {
        SpreadSearch search = new SpreadSearch(spread);
        Network even = EvenForwarders.of(network, spread);
        long each = spread.unitsPerRoot(even).longValue();
        if (each > 0) {
            search.tryAll(even, 1, each, 1);
        }
        return search.found;
    }

    /** Into how many parts a unit should be cut so that every forwarder's arcs fall into even parts. */
    private static long division(Network network, long factor) {
        long total = 0;
        long[] neighbours = new long[network.nodes()];
        for (int arc = 0; arc < network.arcs(); arc++) {
            total += network.capacity(arc);
            neighbours[network.to(arc)]++;
        }
        long division = 1;
        for (int node = network.ranks(); node < network.nodes(); node++) {
            long others = Math.max(1, neighbours[node] - 1);
            long next = division / gcd(division, others) * others;
            division = next <= GREATEST_DIVISION && next <= GREATEST_TOTAL / factor / total ? next : division;
        }
        return division;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }

    private void tryAll(Network network, long factor, long count, long division) {
        if (network.direct()) {
            tryAll(LogicalGraph.ofDirect(network, factor), count);
            return;
        }
        EdgeSplitting evenly =
                new EdgeSplitting(network, factor * division, spread.roots(), count * division, true);
        tryAll(evenly.split(), count * division);
        work += evenly.work();
        if (network.nodes() <= FEW_NODES && !isBest()) {
            work = 0;
            tryAll(new EdgeSplitting(network, factor, spread.roots(), count, false).split(), count);
        }
    }

    private void tryAll(LogicalGraph graph, long count) {
        boolean few = graph.ranks() <= FEW_NODES;
        IntStream.rangeClosed(0, RANDOM_ORDERS).forEach(seed -> {
            for (boolean together : new boolean[] {false, true}) {
                for (boolean wide : few ? new boolean[] {false, true} : new boolean[] {false}) {
                    pack(graph, count, new ArborescencePacking.Strategy(together, wide, seed));
                }
            }
        });
    }

    private void pack(LogicalGraph graph, long count, ArborescencePacking.Strategy strategy) {
        if (work < ENOUGH_WORK && !isBest()) {
            ArborescencePacking packing = new ArborescencePacking(graph, spread.roots(), count, strategy);
            found.add(new Candidate(graph, packing.pack()));
            work += packing.work();
        }
    }

    /** Whether no tree can be spared, nor made shallower. */
    private boolean isBest() {
        return !found.isEmpty()
                && found.getLast().depth() == 1
                && found.getLast().trees().size() == spread.roots().size();
    }
}
