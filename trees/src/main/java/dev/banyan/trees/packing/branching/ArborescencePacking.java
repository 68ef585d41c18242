package dev.banyan.trees.packing.branching;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Packs out-trees from given roots into a directed graph with integer capacities: as many from each root as
 * demanded, each over all ranks, no arc used beyond its capacity. That is possible, and is found, if every
 * set of ranks is entered by at least as much capacity as there are trees with their root outside of it.
 *
 * <p>Equal partial trees grow together. An arc may be added to so many of them as leaves every set of ranks
 * what the other partial trees that are not in it still need; one maximum flow tells how many. Where that is
 * not all of them, the rest go on as partial trees of their own. A set that is entered by no more than it
 * needs stays so; such sets are kept and spare later flows. About (ranks x distinct trees + tight sets)
 * flows.
 *
 * <p>Sources: J. Edmonds, "Edge-disjoint branchings", Combinatorial Algorithms, Algorithmics Press 1973;
 * L. Lovasz, "On two minimax theorems in graph", J. Combin. Theory B 21, 1976,
 * doi:10.1016/0095-8956(76)90049-6 (why there always is such an arc); with capacities: H. N. Gabow and K. S.
 * Manu, "Packing algorithms for arborescences (and spanning trees) in capacitated graphs", Math. Programming
 * 82, 1998, doi:10.1007/BF01585866; K. Berczi and A. Frank, "Packing arborescences", EGRES TR-2009-04.
 *
 * <p>An instance is used once, by one thread.
 */
final class ArborescencePacking {
    private final int ranks;
    private final Strategy strategy;
    private final int[] preference;
    private final OpenDemand demand;
    /** The last is the next to grow where one grows after another. */
    private final List<PartialTree> open = new ArrayList<>();

    private final List<BitSet> tight = new ArrayList<>();
    private final List<Branching> done = new ArrayList<>();

    /**
     * The choice of the partial trees that grow next, and of their arcs.
     *
     * @param together whether those whose next arc is nearest to their root grow, instead of one after another
     * @param wide whether to look farther from the root for an arc that all equal trees can take
     * @param seed order among equals: from 0 the next rank first, from others a random order
     */
    record Strategy(boolean together, boolean wide, int seed) {}

    /** An arc that some of the trees can take; then a set is tight, if not all can. */
    private record AlgorithmConfig(
            int from, int to, long count, @Nullable BitSet tightThen) {}

    /**
     * @param roots each root once
     * @param count trees demanded from each root, above 0
     */
    ArborescencePacking(LogicalGraph graph, List<Integer> roots, long count, Strategy strategy) {
        this.strategy = strategy;
        ranks = graph.ranks();
        demand = new OpenDemand(graph);
        preference = shuffled(ranks, strategy.seed());
        for (int root : roots.reversed()) {
            push(new PartialTree(ranks, root, count));
        }
    }

    private static int[] shuffled(int ranks, int seed) {
        int[] order = IntStream.range(0, ranks).toArray();
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = ranks - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int rank = order[i];
            order[i] = order[j];
            order[j] = rank;
        }
        return order;
    }

    /**
     * Packs the trees. Equal trees may be listed separately.
     *
     * @throws IllegalArgumentException if the capacities don't carry them
     */
    List<Branching> pack() {
        while (!open.isEmpty()) {
            PartialTree tree = open.remove(next());
            demand.remove(tree);
            do {
                grow(tree);
            } while (!strategy.together() && !tree.complete());
            if (tree.complete()) {
                done.add(tree.branching());
            } else {
                push(tree);
            }
        }
        return done;
    }

    /** Arcs of all flows that it took. */
    long work() {
        return demand.work();
    }

    private void push(PartialTree tree) {
        open.add(tree);
        demand.add(tree);
    }

    private int next() {
        int next = open.size() - 1;
        if (strategy.together()) {
            for (int i = next - 1; i >= 0; i--) {
                next = open.get(i).headDepth() < open.get(next).headDepth() ? i : next;
            }
        }
        return next;
    }

    private void grow(PartialTree tree) {
        AlgorithmConfig choice = choose(tree);
        if (choice == null) {
            throw new IllegalArgumentException("the capacities do not carry the trees demanded: those of root "
                    + tree.root() + " stop at " + tree.members());
        }
        if (choice.count() < tree.count()) {
            push(tree.split(tree.count() - choice.count()));
        }
        if (choice.tightThen() != null) {
            tight.add(choice.tightThen());
        }
        demand.use(choice.from(), choice.to(), choice.count());
        tree.add(choice.from(), choice.to());
    }

    private @Nullable AlgorithmConfig choose(PartialTree tree) {
        AlgorithmConfig best = null;
        for (int i = tree.head(); i < tree.size(); i++) {
            AlgorithmConfig choice = chooseFrom(tree, tree.member(i), best);
            if (choice != null) {
                best = choice;
            }
            if (best != null && (!strategy.wide() || best.count() == tree.count())) {
                return best;
            }
            if (best == null) {
                tree.exhaustHead();
            }
        }
        return best;
    }

    /** An arc from a rank that more of the trees can take than the best so far, or null. */
    private @Nullable AlgorithmConfig chooseFrom(PartialTree tree, int from, @Nullable AlgorithmConfig bestSoFar) {
        List<Integer> targets = IntStream.range(0, ranks)
                .filter(to -> demand.left(from, to) > 0 && !tree.members().get(to))
                .boxed()
                .sorted(Comparator.comparingLong((Integer to) -> -Math.min(demand.left(from, to), tree.count()))
                        .thenComparingInt(
                                to -> strategy.seed() == 0 ? Math.floorMod(to - from, ranks) : preference[to]))
                .toList();
        AlgorithmConfig best = null;
        long count = bestSoFar == null ? 0 : bestSoFar.count();
        for (int to : targets) {
            long limit = Math.min(demand.left(from, to), tree.count());
            if (limit <= count) {
                break;
            }
            if (isBlocked(tree, from, to)) {
                continue;
            }
            long room = demand.room(from, to, limit);
            BitSet tightThen = room < limit ? demand.tightRanks() : null;
            if (room > count) {
                best = new AlgorithmConfig(from, to, room, tightThen);
                count = room;
            } else if (room == 0 && tightThen != null) {
                tight.add(tightThen);
            }
        }
        return best;
    }

    private boolean isBlocked(PartialTree tree, int from, int to) {
        for (BitSet set : tight) {
            if (set.get(to) && !set.get(from) && set.intersects(tree.members())) {
                return true;
            }
        }
        return false;
    }
}
