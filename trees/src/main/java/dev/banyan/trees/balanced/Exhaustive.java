package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;

/**
 * Balanced binary trees by backtracking over the level arrays: the optimum up to
 * {@value #MAX_OPTIMAL_DEVICES} devices, above that the first tree found, heaviest links tried first.
 * Where no balanced tree exists, or none is found in {@value #MAX_STEPS} steps, the tree is that of
 * {@link Shallow}.
 *
 * <p>Cost: O((n-1)!) per tree up to {@value #MAX_OPTIMAL_DEVICES} devices, at most
 * {@value #MAX_STEPS} steps above.
 *
 * <p>Source: the backtracking of "Single machine All Reduce Topology-aware Communication", Apache MXNet
 * wiki.
 *
 * <p>Kept for comparison: {@link Exact} finds equally good trees up to 8 devices and better ones above,
 * far faster.
 */
public final class Exhaustive implements ForestGenerator {
    /** Greatest number of devices with optimal trees. */
    public static final int MAX_OPTIMAL_DEVICES = 8;

    /** Choices tried for one tree of more devices than that. */
    static final int MAX_STEPS = 1 << 20;

    private final double penalty;

    /** With the default penalty. */
    public Exhaustive() {
        this(KernighanLin.DEFAULT_PENALTY);
    }

    /**
     * @param penalty link usage penalty: factor on a link's weight after each tree that uses it, above 0
     *     and at most 1 (none)
     * @throws IllegalArgumentException if the penalty is out of range
     */
    public Exhaustive(double penalty) {
        this.penalty = TreeSequence.requirePenalty(penalty);
    }

    @Override
    public String name() {
        return "exhaustive";
    }

    @Override
    public Forest generate(LinkMatrix matrix, int... roots) {
        return TreeSequence.generate(matrix, penalty, roots, Backtracking::new);
    }
}
