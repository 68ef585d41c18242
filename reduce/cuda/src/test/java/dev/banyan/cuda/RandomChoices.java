package dev.banyan.cuda;

import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.List;
import java.util.SplittableRandom;

/** Chooses the random calls of property tests. */
final class RandomChoices {
    /** All algorithms of Banyan's. */
    static final List<AlgorithmChoice> ALGORITHMS = AlgorithmChoice.scheduled();

    /** The algorithms with which faults are tried. */
    static final List<AlgorithmChoice> FAULTY_ALGORITHMS = List.of(
            AlgorithmChoice.RING,
            AlgorithmChoice.STAR,
            AlgorithmChoice.SINGLE_TREE,
            AlgorithmChoice.MULTI_TREE,
            AlgorithmChoice.PACKING);

    /** The algorithms whose results follow from inputs in one hop behind a switch. */
    static final List<AlgorithmChoice> EXCHANGING_ALGORITHMS =
            List.of(AlgorithmChoice.PACKING, AlgorithmChoice.STAR, AlgorithmChoice.ONE_SHOT);

    private RandomChoices() {}

    /** Returns one of some values. */
    static <T> T any(List<T> of, SplittableRandom random) {
        return of.get(random.nextInt(of.size()));
    }
}
