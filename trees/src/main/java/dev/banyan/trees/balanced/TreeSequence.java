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
 * leave them, the busiest penalised further. The new tree is kept if it is no lighter and leaves a
 * lower greatest load, or fewer links that bear it. (Rip-up and reroute, as routers of circuits do it:
 * L. McMurchie and C. Ebeling, "PathFinder", FPGA 1995, doi:10.1145/201310.201328.)
 */
final class TreeSequence {
    private final LinkUse links;
    private final int[] roots;
    private final int[][] trees;
    private final boolean[] shallow;
    private int[] spare;
    private double busiest;
    private int busiestCount;

    private TreeSequence(LinkUse links, int[] roots) {
        this.links = links;
        this.roots = roots;
        trees = new int[roots.length][links.size()];
        shallow = new boolean[roots.length];
        spare = new int[links.size()];
    }

    /** Returns the penalty if it is one. */
    static double requirePenalty(double penalty) {
        if (!(penalty > 0 && penalty <= 1)) {
            throw new IllegalArgumentException("link usage penalty " + penalty + "; it must be above 0 and at most 1 (1: none)");
        }
        return penalty;
    }

    /**
     * One tree per root; where the builder finds none, the shallow one.
     *
     * @param starts how many sequences to build, of which the one is kept that loads its busiest link
     *     least, and then weighs most; 1 unless the builder draws lots
     * @param builders makes the builder for the links
     */
    static Forest generate(
            LinkMatrix matrix, double penalty, int[] roots, int starts, Function<LinkUse, TreeBuilder> builders) {
        if (roots.length == 0) {
            throw new IllegalArgumentException("no root given; a forest needs at least one tree");
        }
        LinkUse links = new LinkUse(matrix, penalty, roots.length);
        for (int root : roots) {
            if (root < 0 || root >= matrix.size()) {
                throw new IllegalArgumentException("root " + root + " is not one of the " + matrix.size() + " devices 0.."
                        + (matrix.size() - 1));
            }
        }
        TreeBuilder builder = builders.apply(links);
        TreeSequence best = start(links, roots, builder);
        for (int i = 1; i < starts; i++) {
            TreeSequence next = start(links, roots, builder);
            if (next.isBetterThan(best)) {
                best = next;
            }
        }
        return best.forest();
    }

    private static TreeSequence start(LinkUse links, int[] roots, TreeBuilder builder) {
        TreeSequence sequence = new TreeSequence(links, roots);
        sequence.build(builder);
        if (roots.length > 1) {
            sequence.relieve(builder);
        }
        for (int[] parents : sequence.trees) {
            links.release(parents);
        }
        return sequence;
    }

    private boolean isBetterThan(TreeSequence other) {
        if (busiest != other.busiest) {
            return busiest < other.busiest;
        }
        return busiestCount != other.busiestCount ? busiestCount < other.busiestCount : weight() > other.weight();
    }

    private double weight() {
        double sum = 0;
        for (int[] parents : trees) {
            sum += links.weight(parents);
        }
        return sum;
    }

    private void build(TreeBuilder builder) {
        TreeBuilder fallback = new BreadthFirst(links);
        for (int t = 0; t < roots.length; t++) {
            shallow[t] = !builder.build(roots[t], trees[t]);
            if (shallow[t]) {
                fallback.build(roots[t], trees[t]);
            }
            links.use(trees[t]);
        }
        busiest = links.busiestLoad();
        busiestCount = links.linksLoaded(busiest);
    }

    private void relieve(TreeBuilder builder) {
        for (int t = 0; t < roots.length; t++) {
            int[] old = trees[t];
            // Whether a builder finds a tree hardly depends on the weights.
            if (shallow[t] || !links.usesLoaded(old, busiest)) {
                continue;
            }
            links.deter(busiest);
            links.release(old);
            boolean found = builder.build(roots[t], spare);
            links.undeter();
            if (found && links.weight(spare) >= links.weight(old)) {
                links.use(spare);
                double newBusiest = links.busiestLoad();
                int newCount = links.linksLoaded(newBusiest);
                if (newBusiest < busiest || (newBusiest == busiest && newCount < busiestCount)) {
                    trees[t] = spare;
                    spare = old;
                    busiest = newBusiest;
                    busiestCount = newCount;
                    continue;
                }
                links.release(spare);
            }
            links.use(old);
        }
    }

    private Forest forest() {
        List<Tree> built = new ArrayList<>(trees.length);
        for (int[] parents : trees) {
            built.add(Tree.ofParents(parents));
        }
        return Forest.equalShares(built);
    }
}
