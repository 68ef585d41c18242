package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;

/**
 * The shallowest spanning trees of greatest weight: breadth-first layers from the root, so that every
 * device is as near to the root as the links allow, and each device hangs on its heaviest link to the
 * layer above (ties: the least loaded link, then the parent with the fewest children, then the lowest
 * device). A device may have any number of children.
 *
 * <p>O(n^2) per tree. Every connected matrix has such a tree; the other generators of this package
 * use it where no balanced binary tree exists.
 *
 * <p>Caveat: depth counts links, not levels; on a star, and on a machine where all are linked to all,
 * the root meets everyone itself, one after another. Where balanced trees exist, {@link Exact} and
 * {@link KernighanLin} need fewer levels.
 */
public final class Shallow implements ForestGenerator {
    private final double penalty;

    /** With the default penalty. */
    public Shallow() {
        this(KernighanLin.DEFAULT_PENALTY);
    }

    /**
     * @param penalty link usage penalty: factor on a link's weight after each tree that uses it, above 0
     *     and at most 1 (none)
     * @throws IllegalArgumentException if the penalty is out of range
     */
    public Shallow(double penalty) {
        this.penalty = TreeSequence.requirePenalty(penalty);
    }

    @Override
    public String name() {
        return "shallow";
    }

    @Override
    public Forest generate(LinkMatrix matrix, int... roots) {
        return TreeSequence.generate(matrix, penalty, roots, BreadthFirst::new);
    }
}
