package dev.banyan.trees.packing.branching;

import dev.banyan.trees.internal.MaxFlow;
import dev.banyan.trees.network.Network;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Replaces forwarders by arcs between ranks, so that out-trees from given roots still fit. An arc into a
 * forwarder and one out of it give up equal capacity for an arc past it, as much as leaves every rank the
 * flow that it needs from the roots; maximum flows tell how much. A forwarder into which as much leads as
 * out of it can be replaced entirely. The paths behind every new arc are remembered.
 *
 * <p>A pair of arcs that can't be replaced further stays so, so each is tried once; sets of nodes that are
 * entered by no more than they need are kept and spare flows. At first each forwarder's arcs are replaced
 * evenly, as a whole, in halves where that fails, and so on: with one switch that is all, and it makes trees
 * shallow. At most one flow per rank and pair of neighbours of a forwarder, far fewer in practice.
 *
 * <p>Sources: J. Bang-Jensen, A. Frank, B. Jackson, "Preserving and increasing local edge-connectivity in
 * mixed graphs", SIAM J. Discrete Math. 8(2), 1995; B. Jackson, "Some remarks on arc-connectivity, vertex
 * splitting, and orientation in graphs and digraphs", J. Graph Theory 12, 1988;
 * first used for collectives by L. Zhao et al., "ForestColl: throughput-optimal collective communications on
 * heterogeneous network fabrics", 2024, arXiv:2402.06787.
 *
 * <p>An instance is used once, by one thread.
 */
final class EdgeSplitting {
    private static final int ROUNDS_OF_EVENING = 30;
    /** Even parts that may be refused before evenness is given up; it would be neither even nor quick then. */
    private static final int MOST_REFUSALS = 100;

    /** Rounding of an even part, in units; far above the error of doubles, far below 1. */
    private static final double SLACK = 1e-3;

    private final int ranks;
    private final int nodes;
    private final boolean evenly;
    private final long needed;
    private final @Nullable Arc[] arcs;
    private final MaxFlow flow;
    private final int[] order;
    private final List<BitSet> tight = new ArrayList<>();
    private int refusals;

    private static final class Arc {
        long capacity;
        int inFlow = -1;
        final Deque<LogicalGraph.Piece> pieces = new ArrayDeque<>();
    }

    /** Replaces capacity from a node to a forwarder, and from there to another node. */
    private record Split(int from, int hub, int to, long amount) {}

    /**
     * @param network forwarders in it have as much capacity in as out
     * @param factor all capacities are multiplied by it
     * @param roots each root once
     * @param count trees demanded from each root
     * @param evenly whether to replace a forwarder's arcs evenly first
     */
    EdgeSplitting(Network network, long factor, List<Integer> roots, long count, boolean evenly) {
        this.evenly = evenly;
        ranks = network.ranks();
        nodes = network.nodes();
        needed = Math.multiplyExact(count, roots.size());
        arcs = new Arc[nodes * nodes];
        flow = new MaxFlow(nodes + 1, nodes * nodes);
        order = IntStream.range(0, ranks).toArray();
        for (int arc = 0; arc < network.arcs(); arc++) {
            int from = network.from(arc);
            int to = network.to(arc);
            long amount = Math.multiplyExact(network.capacity(arc), factor);
            change(from, to, amount);
            at(from, to).pieces.add(new LogicalGraph.Piece(List.of(from, to), amount));
        }
        for (int root : roots) {
            flow.addArc(nodes, root, count);
        }
    }

    /** Replaces all forwarders; null if that was to be done evenly, and most of it can't be. */
    @Nullable
    LogicalGraph split() {
        BitSet hubs = new BitSet();
        hubs.set(ranks, nodes);
        while (!hubs.isEmpty()) {
            int hub = hubs.stream()
                    .boxed()
                    .min(Comparator.comparingInt(node -> sources(node).length * targets(node).length))
                    .orElseThrow();
            hubs.clear(hub);
            splitOff(hub);
            if (refusals > MOST_REFUSALS) {
                return null;
            }
        }
        LogicalGraph graph = new LogicalGraph(ranks);
        for (int from = 0; from < ranks; from++) {
            for (int to = 0; to < ranks; to++) {
                for (LogicalGraph.Piece piece : at(from, to).pieces) {
                    graph.add(piece);
                }
            }
        }
        return graph;
    }

    private Arc at(int from, int to) {
        Arc arc = arcs[from * nodes + to];
        if (arc == null) {
            arc = new Arc();
            arcs[from * nodes + to] = arc;
        }
        return arc;
    }

    private long capacity(int from, int to) {
        Arc arc = arcs[from * nodes + to];
        return arc == null ? 0 : arc.capacity;
    }

    private void change(int from, int to, long amount) {
        Arc arc = at(from, to);
        arc.capacity += amount;
        if (arc.inFlow < 0) {
            arc.inFlow = flow.addArc(from, to, arc.capacity);
        } else {
            flow.setCapacity(arc.inFlow, arc.capacity);
        }
    }

    private int[] sources(int hub) {
        return IntStream.range(0, nodes).filter(node -> capacity(node, hub) > 0).toArray();
    }

    private int[] targets(int hub) {
        return IntStream.range(0, nodes).filter(node -> capacity(hub, node) > 0).toArray();
    }

    private void splitOff(int hub) {
        int[] sources = sources(hub);
        int[] targets = targets(hub);
        if (evenly) {
            splitAll(evenSplits(hub, sources, targets));
            if (refusals > MOST_REFUSALS) {
                return;
            }
        }
        for (int from : sources) {
            for (int to : targets) {
                if (from != to) {
                    splitMost(from, hub, to);
                }
            }
        }
        for (int node : sources) {
            splitMost(node, hub, node);
        }
        for (int from : sources) {
            if (capacity(from, hub) > 0) {
                throw new IllegalStateException(
                        "forwarder " + hub + " keeps " + capacity(from, hub) + " from node " + from);
            }
        }
    }

    /** As nearly equal parts for all pairs as the arcs allow, by scaling to the arcs' capacities in turn. */
    private List<Split> evenSplits(int hub, int[] sources, int[] targets) {
        double[][] part = new double[sources.length][targets.length];
        for (int i = 0; i < sources.length; i++) {
            for (int j = 0; j < targets.length; j++) {
                part[i][j] =
                        sources[i] == targets[j] ? 0 : (double) capacity(sources[i], hub) * capacity(hub, targets[j]);
            }
        }
        for (int round = 0; round < ROUNDS_OF_EVENING; round++) {
            for (int i = 0; i < sources.length; i++) {
                double sum = 0;
                for (double value : part[i]) {
                    sum += value;
                }
                for (int j = 0; sum > 0 && j < targets.length; j++) {
                    part[i][j] *= capacity(sources[i], hub) / sum;
                }
            }
            for (int j = 0; j < targets.length; j++) {
                double sum = 0;
                for (double[] row : part) {
                    sum += row[j];
                }
                for (int i = 0; sum > 0 && i < sources.length; i++) {
                    part[i][j] *= capacity(hub, targets[j]) / sum;
                }
            }
        }
        return toSplits(hub, sources, targets, part);
    }

    private List<Split> toSplits(int hub, int[] sources, int[] targets, double[][] part) {
        long[] out =
                IntStream.of(targets).mapToLong(node -> capacity(hub, node)).toArray();
        List<Split> splits = new ArrayList<>();
        for (int i = 0; i < sources.length; i++) {
            long in = capacity(sources[i], hub);
            for (int j = 0; j < targets.length; j++) {
                long amount = Math.min((long) Math.floor(part[i][j] + SLACK), Math.min(in, out[j]));
                if (amount > 0) {
                    splits.add(new Split(sources[i], hub, targets[j], amount));
                    in -= amount;
                    out[j] -= amount;
                }
            }
        }
        return splits;
    }

    private void splitAll(List<Split> splits) {
        if (splits.size() <= 1) {
            splits.forEach(split -> splitUpTo(split.from(), split.hub(), split.to(), split.amount()));
            return;
        }
        splits.forEach(split -> apply(split, 1));
        if (lacking() == 0) {
            splits.forEach(this::join);
            return;
        }
        splits.forEach(split -> apply(split, -1));
        if (++refusals > MOST_REFUSALS) {
            return;
        }
        splitAll(splits.subList(0, splits.size() / 2));
        splitAll(splits.subList(splits.size() / 2, splits.size()));
    }

    private void splitMost(int from, int hub, int to) {
        splitUpTo(from, hub, to, Math.min(capacity(from, hub), capacity(hub, to)));
    }

    private void splitUpTo(int from, int hub, int to, long limit) {
        if (limit == 0 || isBlocked(from, hub, to)) {
            return;
        }
        Split split = new Split(from, hub, to, limit);
        BitSet tightThen = null;
        apply(split, 1);
        for (long lack = lacking(); lack > 0; lack = lacking()) {
            tightThen = tightNodes();
            apply(split, -1);
            split = new Split(from, hub, to, split.amount() - lack);
            apply(split, 1);
        }
        if (tightThen != null) {
            tight.add(tightThen);
        }
        join(split);
    }

    private void apply(Split split, int sign) {
        change(split.from(), split.hub(), -sign * split.amount());
        change(split.hub(), split.to(), -sign * split.amount());
        if (split.from() != split.to()) {
            change(split.from(), split.to(), sign * split.amount());
        }
    }

    /**
     * Returns the lack of the first rank found that gets too little from the roots, or 0; that rank is asked first next
     * time.
     */
    private long lacking() {
        for (int i = 0; i < ranks; i++) {
            int rank = order[i];
            long reached = flow.run(nodes, rank, needed);
            if (reached < needed) {
                System.arraycopy(order, 0, order, 1, i);
                order[0] = rank;
                return needed - reached;
            }
        }
        return 0;
    }

    private BitSet tightNodes() {
        boolean[] side = flow.sourceSide();
        BitSet set = new BitSet();
        for (int node = 0; node < nodes; node++) {
            set.set(node, !side[node]);
        }
        return set;
    }

    private boolean isBlocked(int from, int hub, int to) {
        for (BitSet set : tight) {
            boolean with = set.get(hub);
            if (set.get(from) != with && set.get(to) != with) {
                return true;
            }
        }
        return false;
    }

    /** Makes paths past the forwarder of those to it and from it. */
    private void join(Split split) {
        Deque<LogicalGraph.Piece> into = at(split.from(), split.hub()).pieces;
        Deque<LogicalGraph.Piece> outOf = at(split.hub(), split.to()).pieces;
        Arc past = split.from() == split.to() ? null : at(split.from(), split.to());
        long rest = split.amount();
        while (rest > 0) {
            LogicalGraph.Piece first = into.removeFirst();
            LogicalGraph.Piece second = outOf.removeFirst();
            long amount = Math.min(rest, Math.min(first.amount(), second.amount()));
            putBack(into, first, amount);
            putBack(outOf, second, amount);
            if (past != null) {
                addPiece(past, path(first.nodes(), second.nodes()), amount);
            }
            rest -= amount;
        }
    }

    private static void putBack(Deque<LogicalGraph.Piece> pieces, LogicalGraph.Piece piece, long taken) {
        if (piece.amount() > taken) {
            pieces.addFirst(new LogicalGraph.Piece(piece.nodes(), piece.amount() - taken));
        }
    }

    private static void addPiece(Arc arc, List<Integer> path, long amount) {
        LogicalGraph.Piece same = arc.pieces.stream()
                .filter(piece -> piece.nodes().equals(path))
                .findFirst()
                .orElse(null);
        if (same != null) {
            arc.pieces.remove(same);
        }
        arc.pieces.addLast(new LogicalGraph.Piece(path, amount + (same == null ? 0 : same.amount())));
    }

    /** One path after the other, without the loops that may arise. */
    private static List<Integer> path(List<Integer> first, List<Integer> second) {
        List<Integer> path = new ArrayList<>(first);
        for (int node : second.subList(1, second.size())) {
            int seen = path.indexOf(node);
            if (seen >= 0) {
                path.subList(seen, path.size()).clear();
            }
            path.add(node);
        }
        return path;
    }
}
