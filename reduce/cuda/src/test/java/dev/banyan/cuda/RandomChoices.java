package dev.banyan.cuda;

import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** Chooses the random calls of property tests. */
final class RandomChoices {
    /** All algorithms. */
    static final List<AlgorithmChoice> ALGORITHMS = Stream.of(AlgorithmChoice.values())
            .filter(algorithm -> algorithm != AlgorithmChoice.AUTO)
            .toList();

    private RandomChoices() {}

    /** Returns one of some values. */
    static <T> T any(List<T> of, SplittableRandom random) {
        return of.get(random.nextInt(of.size()));
    }
}
