package dev.banyan.schedule.internal.algorithm;

import dev.banyan.schedule.Schedule;
import java.util.Objects;

/**
 * Gives another algorithm one fixed order of summation: every element is rank 0's, plus rank 1's, and so on, combined
 * in one step. So its bits depend on the ranks' inputs alone, not on the element's place in the array, the array's
 * length, the trees, their shares or the chunks.
 *
 * <p>It keeps the shares, the roots and the way down of the other algorithm's trees. On the way up the root of every
 * tree reads the inputs of all ranks directly. The number of bytes stays the same, but they come from all ranks at
 * once, over the links from there to the root; this costs bandwidth if not all pairs have links. With trees of all
 * roots (multi-tree, ring) every rank sums up its slice; with one tree (single-tree, star) its root sums up everything.
 *
 * <p>Steps: n per tree for an allreduce, one more per tree in place. Depth: that of the deepest tree, plus 1.
 */
public final class RankOrderAlgorithm implements CollectiveAlgorithm {
    private final TreeAlgorithm algorithm;

    /** @param algorithm the algorithm whose trees carry the data */
    public RankOrderAlgorithm(TreeAlgorithm algorithm) {
        this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
    }

    /** Returns the other algorithm's name. */
    @Override
    public String name() {
        return algorithm.name();
    }

    @Override
    public int ranks() {
        return algorithm.ranks();
    }

    @Override
    public Schedule schedule(CollectiveRequest request) {
        return new Lowering(name(), ranks(), request)
                .lower(algorithm.trees(request.collective(), request.root()), SummationOrder.OF_RANKS);
    }
}
