package dev.banyan.trees.packing.allreduce;

import dev.banyan.trees.Tree;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Trees for an allreduce of n devices through one switch. A device of a tree sends once per link that it has
 * in the tree, and receives as often; so a tree with share s takes s times the device's links of its
 * bandwidth b, and nothing else matters.
 *
 * <p>The optimum takes one star per device: it sums its share up and sends it straight back. A device with
 * share s is then loaded with 1 + (n - 2) s times all data each way, so with s in proportion to b / rate - 1
 * the rate is the {@link AllReduceBound}: the lesser of sum(b) / (2(n - 1)) and the least b. Depth 1.
 *
 * <p>With fewer trees than that, stars are slow (a star alone: b / (n - 1)). Then k trees of one share each
 * are made whose links, counted over all trees, are spread over the devices in proportion to b, most of a
 * device's in one tree, which keeps them shallow. The best k is taken. O(k n^2) time.
 */
final class StarPacking {
    private final Network network;
    private final int ranks;

    private StarPacking(Network network) {
        this.network = network;
        ranks = network.ranks();
    }

    static TreePacking of(Network network, int maxTrees) {
        return new StarPacking(network).pack(maxTrees);
    }

    private TreePacking pack(int maxTrees) {
        Bound bound = AllReduceBound.of(network);
        List<PackedTree> stars = stars(bound.gbs().divide(network.unitGbs()));
        if (stars.size() <= maxTrees) {
            return rated(stars, bound);
        }
        return IntStream.rangeClosed(1, maxTrees)
                .mapToObj(count -> rated(spread(count), bound))
                .reduce((best, next) -> next.rateGbs().compareTo(best.rateGbs()) > 0 ? next : best)
                .orElseThrow();
    }

    private TreePacking rated(List<PackedTree> trees, Bound bound) {
        return RatedForest.of(trees, network, bound).orElseThrow();
    }

    /** The stars of two devices have the same links, so one star is enough. */
    private List<PackedTree> stars(BigFraction rate) {
        BigFraction[] room = new BigFraction[ranks];
        Arrays.setAll(
                room, rank -> rate.reciprocal().multiply(network.capacity(rank)).subtract(BigFraction.ONE));
        BigFraction sum = Arrays.stream(room).reduce(BigFraction.ZERO, BigFraction::add);
        if (ranks == 2) {
            return List.of(PackedTree.of(BigFraction.ONE, star(0)));
        }
        List<PackedTree> stars = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            if (room[rank].signum() > 0) {
                stars.add(PackedTree.of(room[rank].divide(sum), star(rank)));
            }
        }
        return stars;
    }

    private Tree star(int root) {
        int[] parents = new int[ranks];
        Arrays.fill(parents, root);
        parents[root] = -1;
        return Tree.ofParents(parents);
    }

    private List<PackedTree> spread(int count) {
        int[] further = furtherLinks(count);
        BigFraction share = BigFraction.of(1, count);
        Map<Tree, BigFraction> shares = new LinkedHashMap<>();
        int rank = 0;
        for (int i = 0; i < count; i++) {
            int[] degree = new int[ranks];
            Arrays.fill(degree, 1);
            int left = ranks - 2;
            while (left > 0) {
                int taken = Math.min(left, further[rank]);
                degree[rank] += taken;
                further[rank] -= taken;
                left -= taken;
                rank += further[rank] == 0 ? 1 : 0;
            }
            shares.merge(ofDegrees(degree), share, BigFraction::add);
        }
        return shares.entrySet().stream()
                .map(tree -> PackedTree.of(tree.getValue(), tree.getKey()))
                .toList();
    }

    /** Each device has a link in each tree; the further ones go where they cost the least. */
    private int[] furtherLinks(int count) {
        int[] further = new int[ranks];
        for (long i = 0; i < (long) count * (ranks - 2); i++) {
            int best = 0;
            for (int rank = 1; rank < ranks; rank++) {
                // capacity / links after one more
                double gain = (double) network.capacity(rank) / (count + further[rank] + 1);
                double bestGain = (double) network.capacity(best) / (count + further[best] + 1);
                best = gain > bestGain ? rank : best;
            }
            further[best]++;
        }
        return further;
    }

    /** The shallowest tree with so many links at each device: those with most of them next to the root. */
    private Tree ofDegrees(int[] degree) {
        List<Integer> order = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            order.add(rank);
        }
        order.sort((a, b) -> Integer.compare(degree[b], degree[a]));
        int[] parents = new int[ranks];
        parents[order.getFirst()] = -1;
        int next = 1;
        for (int at = 0; next < ranks; at++) {
            int rank = order.get(at);
            int children = degree[rank] - (at == 0 ? 0 : 1);
            for (int i = 0; i < children; i++) {
                parents[order.get(next++)] = rank;
            }
        }
        return Tree.ofParents(parents);
    }
}
