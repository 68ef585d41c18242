package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;

/**
 * Balanced binary trees of greatest weight, by dynamic programming over subsets of devices.
 *
 * <p>Each tree is optimal on the weights that the earlier trees left: the set of devices is split into
 * two parts that each fit the level below, one with the root, the other with the child that the root
 * meets; the best trees of both parts and the joining link add up. Among equally heavy trees it takes
 * one that adds least to the sum over all links of (trees that use it)^2 per GB/s. When all are built,
 * each tree on a busiest link is built once more over the links as the others leave them, by that sum
 * first, and the new one kept if it relieves them and leaves the forest as heavy as at first. Where no
 * balanced tree exists on the links, the tree is that of {@link Shallow}.
 *
 * <p>Cost: with L = ceil(log2 n), the sum over levels k and over subsets S of at most 2^k devices of n
 * times the number of splits of S; for n = 8 some thousand additions per tree, for n = 16 some
 * 10^7; at worst O(3^n n). Memory O(n sum of the subsets).
 *
 * <p>Source: the recursion over (subset, end) of M. Held and R. M. Karp, "A Dynamic Programming Approach
 * to Sequencing Problems", J. SIAM 10(1), 1962, doi:10.1137/0110015, applied to the trees of the Apache
 * MXNet wiki's "Single machine All Reduce Topology-aware Communication".
 *
 * <p>Caveats: at most {@value #MAX_DEVICES} devices. Tree by tree it is optimal, the forest is not: that
 * is bound by the penalty. {@link KernighanLin} takes any number of devices and is faster.
 */
public final class Exact implements ForestGenerator {
    /** Greatest number of devices. */
    public static final int MAX_DEVICES = SubsetPlan.MAX_DEVICES;

    private final double penalty;

    /** With the default penalty. */
    public Exact() {
        this(KernighanLin.DEFAULT_PENALTY);
    }

    /**
     * @param penalty link usage penalty: factor on a link's weight after each tree that uses it, above 0
     *     and at most 1 (none)
     * @throws IllegalArgumentException if the penalty is out of range
     */
    public Exact(double penalty) {
        this.penalty = TreeSequence.requirePenalty(penalty);
    }

    @Override
    public String name() {
        return "exact";
    }

    /**
     * {@inheritDoc}
     *
     * @throws IllegalArgumentException also if there are more than {@value #MAX_DEVICES} devices
     */
    @Override
    public Forest generate(LinkMatrix matrix, int... roots) {
        if (matrix.size() > MAX_DEVICES) {
            throw new IllegalArgumentException("exact trees are found for at most " + MAX_DEVICES + " devices, not "
                    + matrix.size() + "; use kernighan-lin");
        }
        return TreeSequence.generate(matrix, penalty, roots, SubsetSearch::new);
    }
}
