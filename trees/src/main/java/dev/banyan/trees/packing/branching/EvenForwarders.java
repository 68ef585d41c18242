package dev.banyan.trees.packing.branching;

import dev.banyan.trees.internal.MaxFlow;
import dev.banyan.trees.network.Network;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Narrows arcs until as much leads into every forwarder as out of it, so that {@link EdgeSplitting} can
 * replace it. First arcs give up what leaves the rate as it is; what is still too much is taken from all
 * arcs as evenly as possible, and may cost some of the rate: forwarders don't copy, so the rate that the cuts
 * allow can be out of reach where more leads out of one than into it. Networks that are even already, as
 * those of full-duplex links, are returned as they are. Used once, by one thread.
 */
final class EvenForwarders {
    /** Capacities are multiplied by it, so that they can be narrowed by parts of a unit. */
    private static final long FINER = 60;
    /** Parts of an arc's capacity that are tried when all must give something up. */
    private static final int STEPS = 64;

    private final Network network;
    private final int ranks;
    private final long factor;
    private final long[] capacity;
    private final long[] excess;
    private final MaxFlow flow;
    private final long needed;

    private EvenForwarders(Network network, Spread spread) {
        this.network = network;
        ranks = network.ranks();
        BigFraction each = spread.unitsPerRoot(network);
        factor = Math.multiplyExact(each.getDenominator().longValueExact(), FINER);
        long count = Math.multiplyExact(each.getNumerator().longValueExact(), FINER);
        needed = Math.multiplyExact(count, spread.roots().size());
        capacity = new long[network.arcs()];
        excess = new long[network.nodes()];
        flow = new MaxFlow(network.nodes() + 1, network.arcs() + ranks);
        for (int arc = 0; arc < network.arcs(); arc++) {
            capacity[arc] = Math.multiplyExact(network.capacity(arc), factor);
            flow.addArc(network.from(arc), network.to(arc), capacity[arc]);
            excess[network.to(arc)] += capacity[arc];
            excess[network.from(arc)] -= capacity[arc];
        }
        for (int root : spread.roots()) {
            flow.addArc(network.nodes(), root, count);
        }
    }

    /** The network with even forwarders; some ranks may be out of reach in it. */
    static Network of(Network network, Spread spread) {
        EvenForwarders forwarders = new EvenForwarders(network, spread);
        return forwarders.even() ? network : forwarders.narrowed();
    }

    private boolean even() {
        return IntStream.range(ranks, network.nodes()).allMatch(node -> excess[node] == 0);
    }

    private Network narrowed() {
        for (int round = ranks; round < network.nodes() && !even(); round++) {
            giveUpSpare();
        }
        if (!even()) {
            takeFromAll();
        }
        return network.withCapacities(capacity, network.unitGbs().divide(BigFraction.of(factor)));
    }

    private void giveUpSpare() {
        List<Integer> widestFirst = IntStream.range(0, network.arcs())
                .boxed()
                .sorted(Comparator.comparingLong(arc -> -capacity[arc]))
                .toList();
        for (int arc : widestFirst) {
            long tooMuch = Math.max(excessOf(network.to(arc)), -excessOf(network.from(arc)));
            long amount = Math.min(tooMuch, capacity[arc]);
            if (amount > 0) {
                narrow(arc, amount);
                for (long lack = lacking(); lack > 0; lack = lacking()) {
                    narrow(arc, -lack);
                }
            }
        }
    }

    private long excessOf(int node) {
        return node < ranks ? 0 : excess[node];
    }

    private void narrow(int arc, long amount) {
        capacity[arc] -= amount;
        flow.setCapacity(arc, capacity[arc]);
        excess[network.to(arc)] -= amount;
        excess[network.from(arc)] += amount;
    }

    private long lacking() {
        for (int rank = 0; rank < ranks; rank++) {
            long reached = flow.run(network.nodes(), rank, needed);
            if (reached < needed) {
                return needed - reached;
            }
        }
        return 0;
    }

    /**
     * The capacity that arcs give up is itself a flow: to the forwarders with too much in, from those with too much
     * out, by way of ranks where need be. The least part of every capacity that allows it is found by halving.
     */
    private void takeFromAll() {
        int few = 0;
        int enough = STEPS;
        while (enough - few > 1) {
            int part = (few + enough) / 2;
            if (surplusFlow(part).run(ranksNode() + 1, ranksNode() + 2) == surplus()) {
                enough = part;
            } else {
                few = part;
            }
        }
        MaxFlow best = surplusFlow(enough);
        best.run(ranksNode() + 1, ranksNode() + 2);
        for (int arc = 0; arc < network.arcs(); arc++) {
            narrow(arc, best.flow(arc));
        }
    }

    /** All ranks as one node, then a source, then a sink. */
    private int ranksNode() {
        return network.nodes();
    }

    private long surplus() {
        return IntStream.rangeClosed(ranks, network.nodes())
                .mapToLong(node -> Math.max(0, surplusAt(node)))
                .sum();
    }

    private long surplusAt(int node) {
        return node < network.nodes()
                ? excess[node]
                : -IntStream.range(ranks, node)
                        .mapToLong(forwarder -> excess[forwarder])
                        .sum();
    }

    private MaxFlow surplusFlow(int part) {
        MaxFlow surplus = new MaxFlow(network.nodes() + 3, network.arcs() + network.nodes());
        for (int arc = 0; arc < network.arcs(); arc++) {
            long most = part == STEPS ? capacity[arc] : capacity[arc] / STEPS * part;
            surplus.addArc(merged(network.from(arc)), merged(network.to(arc)), most);
        }
        for (int node = ranks; node <= network.nodes(); node++) {
            long amount = surplusAt(node);
            if (amount > 0) {
                surplus.addArc(node, ranksNode() + 2, amount);
            } else {
                surplus.addArc(ranksNode() + 1, node, -amount);
            }
        }
        return surplus;
    }

    private int merged(int node) {
        return node < ranks ? ranksNode() : node;
    }
}
