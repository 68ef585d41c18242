package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Summation;
import dev.banyan.schedule.type.Collective;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever trees carry the data: every element is summed in the order of ranks. */
class RankOrderAlgorithmTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8, 11})
    void sumsInTheOrderOfRanks(int n) {
        String inOrder = IntStream.range(0, n).mapToObj(Integer::toString).collect(Collectors.joining(" + "));
        for (CollectiveAlgorithm algorithm : Samples.algorithms(n, new Random(n))) {
            RankOrderAlgorithm ordered = new RankOrderAlgorithm((TreeAlgorithm) algorithm);
            assertThat(ordered.name()).isEqualTo(algorithm.name());
            for (Collective collective : Collective.values()) {
                for (int root : Samples.roots(collective, n)) {
                    for (long count : new long[] {0, 1, n + 1, 100_003}) {
                        for (boolean inPlace : new boolean[] {false, true}) {
                            ScheduleProof proof = ScheduleVerifier.verify(ordered.schedule(
                                    new CollectiveRequest(collective, root, count, 4, inPlace, 1 << 14)));
                            List<String> expressions = proof.summations().stream()
                                    .map(Summation::expression)
                                    .distinct()
                                    .toList();
                            if (collective.reduces() && count > 0) {
                                assertThat(expressions).containsExactly(inOrder);
                            }
                        }
                    }
                }
            }
        }
    }
}
