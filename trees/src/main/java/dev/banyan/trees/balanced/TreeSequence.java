package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * Builds trees one after another, each over the links as the earlier ones left them, and then relieves
 * the busiest links: a tree that uses one is taken away and built again over the links as all others
 * leave them, by load first and by weight second. The new tree is kept if it leaves a lower greatest
 * load, or fewer links that bear it, and all trees together weigh no less than they did at first. (Rip-up
 * and reroute, as routers of circuits do it: L. McMurchie and C. Ebeling, "PathFinder", FPGA 1995,
 * doi:10.1145/201310.201328.)
 */
final class TreeSequence {
    private final LinkUse links;
    private final int[] roots;
    private final int[][] trees;
    private final boolean[] shallow;
    /** Position of the root with which building and relieving begin. */
    private final int first;

    private int[] spare;
    private long weight;
    private float busiest;
    private int busiestCount;

    private TreeSequence(LinkUse links, int[] roots, int first) {
        this.links = links;
        this.roots = roots;
        this.first = first;
        trees = new int[roots.length][links.size()];
        shallow = new boolean[roots.length];
        spare = new int[links.size()];
    }

    /** Returns the penalty if it is one. */
    static double requirePenalty(double penalty) {
        if (!(penalty > 0 && penalty <= 1)) {
            throw new IllegalArgumentException(
                    "link usage penalty " + penalty + "; it must be above 0 and at most 1 (1: none)");
        }
        return penalty;
    }

    /**
     * One tree per root; where the builder finds none, the shallow one. Of several {@linkplain
     * TreeBuilder#starts() starts} the one is kept that loads its busiest link least, and then weighs most.
     *
     * @param builders makes the builder for the links
     */
    static Forest generate(LinkMatrix matrix, double penalty, int[] roots, Function<LinkUse, TreeBuilder> builders) {
        if (roots.length == 0) {
            throw new IllegalArgumentException("no root given; a forest needs at least one tree");
        }
        LinkUse links = new LinkUse(matrix, penalty, roots.length);
        for (int root : roots) {
            if (root < 0 || root >= matrix.size()) {
                throw new IllegalArgumentException(
                        "root " + root + " is not one of the " + matrix.size() + " devices 0.." + (matrix.size() - 1));
            }
        }
        TreeBuilder builder = builders.apply(links);
        TreeSequence best = start(links, roots, 0, builder);
        for (int i = 1; i < builder.starts(); i++) {
            // Some orders of roots lead into traps: each start begins elsewhere.
            links.clear();
            TreeSequence next = start(links, roots, i * roots.length / builder.starts(), builder);
            if (next.isBetterThan(best)) {
                best = next;
            }
        }
        return best.forest();
    }

    private static TreeSequence start(LinkUse links, int[] roots, int first, TreeBuilder builder) {
        TreeSequence sequence = new TreeSequence(links, roots, first);
        sequence.build(builder);
        if (roots.length > 1) {
            sequence.relieve(builder);
        }
        return sequence;
    }

    private boolean isBetterThan(TreeSequence other) {
        if (busiest != other.busiest) {
            return busiest < other.busiest;
        }
        return busiestCount != other.busiestCount ? busiestCount < other.busiestCount : weight > other.weight;
    }

    private void build(TreeBuilder builder) {
        TreeBuilder fallback = new BreadthFirst(links);
        for (int i = 0; i < roots.length; i++) {
            int t = (first + i) % roots.length;
            shallow[t] = !builder.build(roots[t], trees[t]);
            if (shallow[t]) {
                fallback.build(roots[t], trees[t]);
            }
            links.use(trees[t]);
            weight += links.weight(trees[t]);
        }
        busiest = links.busiestLoad();
        busiestCount = links.linksLoaded(busiest);
    }

    private void relieve(TreeBuilder builder) {
        links.putLoadFirst();
        long leastWeight = weight;
        for (int i = 0; i < roots.length; i++) {
            int t = (first + i) % roots.length;
            // The success of a builder hardly depends on the values.
            if (!shallow[t] && links.usesLoaded(trees[t], busiest)) {
                rebuild(t, builder, leastWeight);
            }
        }
    }

    private void rebuild(int t, TreeBuilder builder, long leastWeight) {
        int[] old = trees[t];
        links.release(old);
        if (builder.build(roots[t], spare)) {
            long newWeight = weight - links.weight(old) + links.weight(spare);
            links.use(spare);
            float newBusiest = links.busiestLoad();
            int newCount = links.linksLoaded(newBusiest);
            if (newWeight >= leastWeight
                    && (newBusiest < busiest || (newBusiest == busiest && newCount < busiestCount))) {
                trees[t] = spare;
                spare = old;
                weight = newWeight;
                busiest = newBusiest;
                busiestCount = newCount;
                return;
            }
            links.release(spare);
        }
        links.use(old);
    }

    private Forest forest() {
        List<Tree> built = new ArrayList<>(trees.length);
        for (int[] parents : trees) {
            built.add(Tree.ofParents(parents));
        }
        return Forest.equalShares(built);
    }
}
