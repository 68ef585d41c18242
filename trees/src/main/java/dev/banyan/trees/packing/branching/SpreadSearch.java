package dev.banyan.trees.packing.branching;

import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Packs the trees of a spread in several ways, a bounded amount of work, for others to choose from. All of
 * them reach the bound of a network whose forwarders are even. Used once, by one thread.
 */
final class SpreadSearch {
    /** Arcs of flows after which no further way is tried; some milliseconds. */
    private static final long ENOUGH_WORK = 400_000;

    private static final int RANDOM_ORDERS = 1;
    /** Above it, ways that take many more flows are not tried. */
    private static final int FEW_NODES = 20;
    /** Work of a round of flattening above which it is left out. */
    private static final long MOST_LOOKS = 1_000_000;

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
        split(network, factor * division, count * division, true);
        if (found.isEmpty() || (network.nodes() <= FEW_NODES && !isBest())) {
            work = 0;
            split(network, factor, count, false);
        }
    }

    private void split(Network network, long factor, long count, boolean evenly) {
        LogicalGraph graph = new EdgeSplitting(network, factor, spread.roots(), count, evenly).split();
        if (graph != null) {
            tryAll(graph, count);
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
            List<Branching> trees = packing.pack();
            work += packing.work();
            found.add(new Candidate(graph, merged(flat(graph, trees))));
        }
    }

    private List<Branching> flat(LogicalGraph graph, List<Branching> trees) {
        long looks = (long) trees.size() * trees.size() * graph.ranks();
        return looks > MOST_LOOKS ? trees : Flattening.of(graph, trees);
    }

    private static List<Branching> merged(List<Branching> trees) {
        Map<Tree, Long> counts = new LinkedHashMap<>();
        trees.forEach(branching -> counts.merge(branching.tree(), branching.count(), Long::sum));
        return counts.entrySet().stream()
                .map(entry -> new Branching(entry.getKey(), entry.getValue()))
                .sorted(Comparator.comparingInt(
                                (Branching branching) -> branching.tree().root())
                        .thenComparingLong(branching -> -branching.count()))
                .toList();
    }

    /** Returns whether no tree can be spared, nor made shallower. */
    private boolean isBest() {
        return !found.isEmpty()
                && found.getLast().depth() == 1
                && found.getLast().trees().size() == spread.roots().size();
    }
}
