package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.type.Collective;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every algorithm x collective x root x count x in place or not x chunk size passes the verifier. */
class AlgorithmMatrixTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 8, 9, 17})
    void verifies(int n) {
        verifyAll(n);
    }

    @ParameterizedTest
    @ValueSource(ints = {6, 7, 10, 11, 12, 13, 14, 15, 16})
    @Tag("soak")
    void verifiesOtherNumbersOfRanks(int n) {
        verifyAll(n);
    }

    private static void verifyAll(int n) {
        Random random = new Random(n);
        for (CollectiveAlgorithm algorithm : Samples.algorithms(n, random)) {
            assertThat(algorithm.ranks()).isEqualTo(n);
            for (Collective collective : Collective.values()) {
                for (int root : Samples.roots(collective, n)) {
                    for (long count : new long[] {0, 1, n - 1, n, n + 1, 1_000_003}) {
                        long chunkBytes = count > 1000 ? 1 << 20 : 8;
                        verify(algorithm, new CollectiveRequest(collective, root, count, 4, false, chunkBytes));
                        verify(algorithm, new CollectiveRequest(collective, root, count, 4, true, Long.MAX_VALUE));
                        verify(algorithm, new CollectiveRequest(collective, root, count, 2, true, chunkBytes));
                        if (n <= 8) {
                            verify(algorithm, new CollectiveRequest(collective, root, count, 8, false, Long.MAX_VALUE));
                        }
                    }
                }
            }
        }
    }

    private static void verify(CollectiveAlgorithm algorithm, CollectiveRequest request) {
        Schedule schedule = algorithm.schedule(request);
        assertThat(schedule.algorithm()).isEqualTo(algorithm.name());
        assertThat(schedule.chunks()).allMatch(chunk -> chunk.bytes() <= request.chunkBytes());
        ScheduleVerifier.verify(schedule);
    }

    @Test
    void sameRequestGivesAnEqualSchedule() {
        for (int i = 0; i < 200; i++) {
            int n = 1 + i % 9;
            int pick = i % 5;
            CollectiveRequest request = Samples.request(n, 1000, new Random(i));
            Schedule first = Samples.algorithms(n, new Random(i)).get(pick).schedule(request);
            Schedule second = Samples.algorithms(n, new Random(i)).get(pick).schedule(request);
            assertThat(second).isEqualTo(first);
        }
    }

    @Test
    void refusesARootThatIsNotARank() {
        CollectiveRequest request = new CollectiveRequest(Collective.REDUCE, 4, 10, 4, false, 64);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new StarAlgorithm(4).schedule(request))
                .withMessageContaining("root 4")
                .withMessageContaining("0..3");
        assertThatIllegalArgumentException().isThrownBy(() -> new StarAlgorithm(4, 4));
        assertThatIllegalArgumentException().isThrownBy(() -> new StarAlgorithm(0));
        assertThatIllegalArgumentException().isThrownBy(RingAlgorithm::new);
        assertThatIllegalArgumentException().isThrownBy(() -> new RingAlgorithm(0, 2));
        assertThatIllegalArgumentException().isThrownBy(() -> new RingAlgorithm(0, 1, 1));
    }
}
