package dev.banyan.export.mscclpp;

import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Trees whose shares are whole numbers of equal chunks.
 *
 * @param collective what the trees carry
 * @param chunks number of equal chunks: of a block for all_gather and reduce_scatter, else of all data
 * @param trees the trees that carry at least one chunk
 */
public record ChunkedTrees(Collective collective, int chunks, List<Part> trees) {
    private static final int MOST_CHUNKS = 1024;
    private static final double NEGLIGIBLE = 0.01;

    /**
     * A tree and its chunks.
     *
     * @param first first chunk, of its root's block for all_gather and reduce_scatter
     */
    public record Part(PackedTree tree, int first, int length) {}

    public ChunkedTrees {
        trees = List.copyOf(trees);
    }

    /**
     * Rounds shares to the least power of two of chunks with which at most 1% of the rate is lost, or else to 1024.
     *
     * @param trees as {@link dev.banyan.schedule.internal.algorithm.TreeAlgorithm#trees} returns them
     * @param network the links that the trees load
     * @param links paths of pairs that do not take the usual path
     */
    public static ChunkedTrees of(
            Collective collective, List<PackedTree> trees, Network network, List<LogicalLink> links) {
        double exact = rate(collective, trees, network, links).doubleValue();
        for (int chunks = 1; ; chunks *= 2) {
            ChunkedTrees rounded = of(collective, trees, chunks);
            if (chunks == MOST_CHUNKS || rounded.rate(network, links).doubleValue() >= exact * (1 - NEGLIGIBLE)) {
                return rounded;
            }
        }
    }

    private static ChunkedTrees of(Collective collective, List<PackedTree> trees, int chunks) {
        boolean blocks = collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER;
        Map<Integer, List<PackedTree>> byOwner = new LinkedHashMap<>();
        trees.forEach(tree -> byOwner.computeIfAbsent(blocks ? tree.root() : -1, _ -> new ArrayList<>())
                .add(tree));
        List<Part> parts = new ArrayList<>();
        for (List<PackedTree> together : byOwner.values()) {
            BigFraction whole = together.stream().map(PackedTree::share).reduce(BigFraction.ZERO, BigFraction::add);
            BigFraction before = BigFraction.ZERO;
            int first = 0;
            for (PackedTree tree : together) {
                before = before.add(tree.share().divide(whole));
                int end = (int) Math.round(before.doubleValue() * chunks);
                if (end > first) {
                    parts.add(new Part(tree, first, end - first));
                }
                first = end;
            }
        }
        return new ChunkedTrees(collective, chunks, parts);
    }

    /** Returns the rate at which the links are full, as algbw in GB/s. */
    public BigFraction rate(Network network, List<LogicalLink> links) {
        int owners =
                collective == Collective.ALL_GATHER || collective == Collective.REDUCE_SCATTER ? network.ranks() : 1;
        return rate(
                collective,
                trees.stream()
                        .map(part -> new PackedTree(
                                BigFraction.of(part.length(), (long) chunks * owners),
                                part.tree().up(),
                                part.tree().down()))
                        .toList(),
                network,
                links);
    }

    /** Returns the same of trees with exact shares. */
    public static BigFraction rate(
            Collective collective, List<PackedTree> trees, Network network, List<LogicalLink> links) {
        LinkLoads loads = new LinkLoads(network, links);
        for (PackedTree tree : trees) {
            if (collective.reduces()) {
                loads.addUp(tree.share(), tree.up());
            }
            if (collective != Collective.REDUCE_SCATTER) {
                loads.addDown(tree.share(), tree.down());
            }
        }
        return loads.rateGbs();
    }
}
