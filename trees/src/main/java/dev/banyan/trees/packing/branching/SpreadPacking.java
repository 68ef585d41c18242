package dev.banyan.trees.packing.branching;

import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Detours;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * The best trees for a spread of blocks: of those found at the greatest rate, the ones with the least
 * product of the number of trees and the square of their depth. With fewer trees than the bound takes: the
 * best of the widest trees of packings at the bound, of packings in coarser units, and of single trees. More
 * trees allowed never make it slower.
 */
final class SpreadPacking {
    /** Coarser units are tried for so many trees per root at most. */
    private static final int COARSE = 16;

    private final Network network;
    private final Spread spread;
    private final Bound bound;

    private SpreadPacking(Network network, Spread spread) {
        this.network = network;
        this.spread = spread;
        bound = spread.bound(network);
    }

    /**
     * @param down network in which the blocks go from the roots to all ranks
     * @param maxTreesPerRoot at least 1
     */
    static TreePacking of(Network down, Spread spread, int maxTreesPerRoot) {
        if (maxTreesPerRoot < 1) {
            throw new IllegalArgumentException(
                    "at most " + maxTreesPerRoot + " trees are asked for; allow at least one");
        }
        return new SpreadPacking(down, spread).best(maxTreesPerRoot);
    }

    /**
     * Trees for the opposite: blocks that go from all ranks to the roots, reduced on their way.
     *
     * @param network the network in which they go
     * @param bound the bound of that
     */
    static TreePacking opposite(Network network, Spread spread, int maxTreesPerRoot, Bound bound) {
        TreePacking down = of(network.reversed(), spread, maxTreesPerRoot);
        List<LogicalLink> links = down.links().stream()
                .map(link -> new LogicalLink(
                        link.to(),
                        link.from(),
                        link.paths().stream()
                                .map(path -> new LogicalLink.Path(path.nodes().reversed(), path.share()))
                                .toList()))
                .sorted(Comparator.comparingInt(LogicalLink::from).thenComparingInt(LogicalLink::to))
                .toList();
        return new TreePacking(network, down.trees(), down.rateGbs(), bound, links);
    }

    private TreePacking best(int maxTreesPerRoot) {
        List<Candidate> optimal = SpreadSearch.optimal(network, spread);
        TreePacking best = optimal.stream()
                .filter(candidate -> candidate.treesPerRoot() <= maxTreesPerRoot)
                .min(Comparator.comparingLong(
                                (Candidate candidate) -> cost(candidate.trees().size(), candidate.depth()))
                        .thenComparingInt(Candidate::depth))
                .map(this::packing)
                .orElseGet(this::usualWay);
        if (isOptimal(best)) {
            return best;
        }
        best = better(best, usualWay());
        for (Candidate candidate : optimal) {
            int most = Math.min(maxTreesPerRoot, candidate.treesPerRoot());
            for (int perRoot = 1; perRoot <= most; perRoot++) {
                best = better(best, packing(candidate.widest(perRoot)));
            }
        }
        for (int perRoot = 1; perRoot <= Math.min(maxTreesPerRoot, COARSE) && !isOptimal(best); perRoot++) {
            for (Candidate candidate : SpreadSearch.whole(CoarseUnits.of(network, spread, perRoot), spread)) {
                best = better(best, packing(candidate.widest(perRoot)));
            }
        }
        return best;
    }

    private static long cost(int trees, int depth) {
        return (long) trees * depth * depth;
    }

    private boolean isOptimal(TreePacking packing) {
        return packing.rateGbs().equals(bound.gbs());
    }

    private static TreePacking better(TreePacking a, TreePacking b) {
        int faster = a.rateGbs().compareTo(b.rateGbs());
        if (faster != 0) {
            return faster > 0 ? a : b;
        }
        return cost(b.trees().size(), b.depth()) < cost(a.trees().size(), a.depth()) ? b : a;
    }

    private TreePacking packing(Candidate candidate) {
        long[] ofRoot = new long[network.ranks()];
        candidate.trees().forEach(branching -> ofRoot[branching.tree().root()] += branching.count());
        List<PackedTree> trees = candidate.trees().stream()
                .map(branching -> PackedTree.of(
                        BigFraction.of(branching.count())
                                .divide(BigFraction.of(ofRoot[branching.tree().root()]))
                                .divide(spread.roots().size()),
                        branching.tree()))
                .toList();
        return packing(trees, new LinkLoads(network, candidate.graph().links(candidate.trees())));
    }

    private TreePacking packing(List<PackedTree> trees, LinkLoads loads) {
        trees.forEach(tree -> loads.addDown(tree.share(), tree.down()));
        return new TreePacking(network, trees, loads.rateGbs(), bound, loads.links());
    }

    /** One tree per root with the fewest links, each the way that unplanned transfers go; it always exists. */
    private TreePacking usualWay() {
        Detours detours = new Detours(network);
        List<PackedTree> trees = new ArrayList<>();
        for (int root : spread.roots()) {
            int[] parents = new int[network.ranks()];
            Arrays.fill(parents, -1);
            List<Integer> reached = new ArrayList<>(List.of(root));
            for (int i = 0; i < reached.size(); i++) {
                for (int rank = 0; rank < network.ranks(); rank++) {
                    if (rank != root && parents[rank] < 0 && detours.path(reached.get(i), rank) != null) {
                        parents[rank] = reached.get(i);
                        reached.add(rank);
                    }
                }
            }
            trees.add(PackedTree.of(BigFraction.of(1, spread.roots().size()), Tree.ofParents(parents)));
        }
        return packing(trees, new LinkLoads(network));
    }
}
