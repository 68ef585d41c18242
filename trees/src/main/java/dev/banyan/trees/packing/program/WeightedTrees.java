package dev.banyan.trees.packing.program;

import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.internal.Basis;
import dev.banyan.trees.internal.CommonFractions;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** Routed trees with whole weights, which stand for their shares: a packing in the making. */
final class WeightedTrees {
    private final CapacityRows rows;
    private final Network network;
    private BigInteger total = BigInteger.ZERO;
    private final BigInteger[] load;
    private final Map<TreeShape, BigInteger> shapes = new LinkedHashMap<>();
    /** By ordered pair of ranks: the paths between them with their weights. */
    private final Map<Integer, Map<List<Integer>, BigInteger>> paths = new TreeMap<>();

    WeightedTrees(CapacityRows rows) {
        this.rows = rows;
        network = rows.network();
        load = new BigInteger[rows.count()];
        Arrays.fill(load, BigInteger.ZERO);
    }

    /** The exact amounts of a basis where it has any and none is negative; else its rounded ones. */
    static WeightedTrees of(FloatPacking packing, CapacityRows rows) {
        WeightedTrees trees = new WeightedTrees(rows);
        Basis<RoutedTree> basis = packing.basis();
        CommonFractions exact = basis.exactAmounts();
        for (int i = 0; i < basis.columns().size(); i++) {
            long rounded = Math.round(Math.scalb(basis.amount(i) / packing.total(), 40));
            trees.add(
                    basis.columns().get(i),
                    exact != null ? exact.numerator(i) : BigInteger.valueOf(Math.max(0, rounded)));
        }
        return trees;
    }

    /** Adds a tree, unless its weight is 0. */
    void add(RoutedTree tree, BigInteger weight) {
        if (weight.signum() == 0) {
            return;
        }
        total = total.add(weight);
        shapes.merge(tree.shape(), weight, BigInteger::add);
        for (int i = 0; i < tree.rowsUsed(); i++) {
            BigInteger more = weight.multiply(BigInteger.valueOf(tree.uses(i)));
            load[tree.row(i)] = load[tree.row(i)].add(more);
        }
        for (int i = 0; i < tree.transfers(); i++) {
            List<Integer> nodes = nodes(tree.path(i));
            addPath(nodes, weight);
            if (rows.areLinks()) {
                addPath(nodes.reversed(), weight);
            }
        }
    }

    private List<Integer> nodes(int[] arcs) {
        return IntStream.concat(
                        IntStream.of(network.from(arcs[0])), IntStream.of(arcs).map(network::to))
                .boxed()
                .toList();
    }

    private void addPath(List<Integer> nodes, BigInteger weight) {
        paths.computeIfAbsent(nodes.getFirst() * network.ranks() + nodes.getLast(), pair -> new LinkedHashMap<>())
                .merge(nodes, weight, BigInteger::add);
    }

    /** Number of different trees; trees that differ in their paths alone count once. */
    int count() {
        return shapes.size();
    }

    /** The trees without paths, those with the greatest weight first, then the shallow ones. */
    List<TreeShape> shapes() {
        return shapes.entrySet().stream()
                .sorted(Map.Entry.<TreeShape, BigInteger>comparingByValue()
                        .reversed()
                        .thenComparing(Map.Entry::getKey, TreeShape::compareTo))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Algbw in units of the network at which the busiest row is full. */
    BigFraction rateUnits() {
        BigFraction least = BigFraction.ZERO;
        for (int row = 0; row < load.length; row++) {
            if (load[row].signum() > 0) {
                BigFraction rate = BigFraction.of(total.multiply(BigInteger.valueOf(rows.capacity(row))), load[row]);
                least = least.signum() == 0 || rate.compareTo(least) < 0 ? rate : least;
            }
        }
        return least;
    }

    TreePacking packing(Bound bound) {
        List<PackedTree> trees = new ArrayList<>();
        for (TreeShape shape : shapes()) {
            BigFraction share = BigFraction.of(shapes.getOrDefault(shape, BigInteger.ZERO), total);
            Tree up = shape.upTree();
            trees.add(shape.sameBothWays() ? PackedTree.of(share, up) : new PackedTree(share, up, shape.downTree()));
        }
        return new TreePacking(network, trees, rateUnits().multiply(network.unitGbs()), bound, links());
    }

    private List<LogicalLink> links() {
        List<LogicalLink> links = new ArrayList<>();
        paths.forEach((pair, weights) -> {
            if (weights.size() > 1 || weights.keySet().iterator().next().size() > 2) {
                links.add(link(pair / network.ranks(), pair % network.ranks(), weights));
            }
        });
        return links;
    }

    private static LogicalLink link(int from, int to, Map<List<Integer>, BigInteger> weights) {
        BigInteger sum = weights.values().stream().reduce(BigInteger.ZERO, BigInteger::add);
        return new LogicalLink(
                from,
                to,
                weights.entrySet().stream()
                        .map(path -> new LogicalLink.Path(path.getKey(), BigFraction.of(path.getValue(), sum)))
                        .sorted(Comparator.comparing(LogicalLink.Path::share)
                                .reversed()
                                .thenComparingInt(path -> path.nodes().size())
                                .thenComparing(path -> path.nodes().toString()))
                        .toList());
    }
}
