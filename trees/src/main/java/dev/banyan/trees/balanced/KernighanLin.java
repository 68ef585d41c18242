package dev.banyan.trees.balanced;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;

/**
 * Balanced binary trees by recursive bisection.
 *
 * <p>At each level every cluster is split into two halves so that little link weight is cut, by the
 * heuristic of Kernighan and Lin: exchange the pair of devices that gains most until all are
 * exchanged, keep the best prefix of the exchanges, repeat while that gains. The heaviest crossing link
 * that starts at the cluster's root joins the halves; both its ends become roots of their halves. Equal
 * links are chosen by load, then by a seeded generator. Where the root has no crossing link, the
 * cluster is split anew, from another start and at sizes that still fit the level below, a bounded number
 * of times. If there is none, {@link Exact} searches up to
 * {@value Exact#MAX_DEVICES} devices, and above that, or where no balanced tree exists, the tree is that
 * of {@link Shallow}. When all trees are built, each on a busiest link is built once more over the links
 * as the others leave them, least loaded first, and the new one kept if it relieves them and leaves the
 * forest as heavy as at first. Up to {@value Exact#MAX_DEVICES} devices, and unless a tree had to be
 * searched otherwise, all this is done three times, each begun at another root, and the forest kept that
 * loads its busiest link least, and then weighs most.
 *
 * <p>Cost: O(n^3) per pass over n devices (few passes are needed), so O(n^3) per tree, and that of {@link
 * Exact} where it has to search. Memory O(n^2), besides.
 *
 * <p>Sources: B. W. Kernighan and S. Lin, "An Efficient Heuristic Procedure for Partitioning Graphs", Bell
 * System Technical Journal 49(2), 1970, doi:10.1002/j.1538-7305.1970.tb01770.x; its use for trees:
 * "Single machine All Reduce Topology-aware Communication", Apache MXNet wiki.
 *
 * <p>Caveats: a heuristic; {@link Exact} is optimal tree by tree, and fast enough for most up to
 * {@value Exact#MAX_DEVICES} devices. Where all links are equal, any generator does.
 */
public final class KernighanLin implements ForestGenerator {
    /** Link usage penalty where none is given: factor on a link's weight after each tree that uses it. */
    public static final double DEFAULT_PENALTY = 0.7;

    /** Seed where none is given. */
    public static final long DEFAULT_SEED = 1970;

    private final double penalty;
    private final long seed;

    /** With the default penalty. */
    public KernighanLin() {
        this(DEFAULT_PENALTY);
    }

    /**
     * With the default seed.
     *
     * @param penalty link usage penalty: factor on a link's weight after each tree that uses it, above 0
     *     and at most 1 (none)
     * @throws IllegalArgumentException if the penalty is out of range
     */
    public KernighanLin(double penalty) {
        this(penalty, DEFAULT_SEED);
    }

    /**
     * @param penalty link usage penalty, as above
     * @param seed of the generator that breaks ties and chooses first splits
     * @throws IllegalArgumentException if the penalty is out of range
     */
    public KernighanLin(double penalty, long seed) {
        this.penalty = TreeSequence.requirePenalty(penalty);
        this.seed = seed;
    }

    @Override
    public String name() {
        return "kernighan-lin";
    }

    @Override
    public Forest generate(LinkMatrix matrix, int... roots) {
        return TreeSequence.generate(matrix, penalty, roots, links -> new Bisection(links, seed));
    }
}
