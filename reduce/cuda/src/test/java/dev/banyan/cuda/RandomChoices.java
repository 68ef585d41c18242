package dev.banyan.cuda;

import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.List;
import java.util.SplittableRandom;

/** Chooses the random calls of property tests. */
final class RandomChoices {
    /** All algorithms of Banyan's. */
    static final List<AlgorithmChoice> ALGORITHMS = AlgorithmChoice.scheduled();

    private RandomChoices() {}

    /** Returns one of some values. */
    static <T> T any(List<T> of, SplittableRandom random) {
        return of.get(random.nextInt(of.size()));
    }
}
