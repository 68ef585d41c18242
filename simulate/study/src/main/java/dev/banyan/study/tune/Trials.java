package dev.banyan.study.tune;

import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.simulate.RangedCosts.TimeRange;
import java.util.List;
import java.util.Optional;

/** Tries choices out. The same choice at the same size is tried once. */
public interface Trials extends AutoCloseable {
    /**
     * Lengths of chunks that are worth trying, the longest first.
     *
     * @param whole the algorithm
     * @param bytes size of the call
     */
    List<Long> chunkBytes(AlgorithmConfig whole, long bytes);

    /** Returns a choice with the length of chunks that a planner takes for it, which is tried too; empty for none. */
    default Optional<AlgorithmConfig> planned(AlgorithmConfig whole, long bytes) {
        return Optional.empty();
    }

    /** Algorithms that may be chosen. */
    List<AlgorithmChoice> algorithms();

    /** Algorithms that are tried beside them and never chosen. */
    default List<AlgorithmChoice> beside() {
        return List.of();
    }

    /**
     * Returns the factor by which times of equal speed may differ. The choice of the size before is kept if its time
     * exceeds the least by at most this factor.
     */
    default double noise() {
        return 1;
    }

    /**
     * Returns the times in us that a call could have taken; from 0 to infinity where nothing is known of them.
     *
     * @param choice a choice that was tried at that size
     */
    TimeRange range(AlgorithmConfig choice, long bytes);

    /** Returns the limits of the trials, one sentence each. */
    default List<String> remarks() {
        return List.of();
    }

    /** Greatest numbers of packed trees that are worth trying. */
    List<Integer> maxTrees();

    /**
     * Time of a call in us.
     *
     * @param bytes size of the call, as nccl-tests mean it
     */
    double us(AlgorithmConfig choice, long bytes);

    @Override
    void close();
}
