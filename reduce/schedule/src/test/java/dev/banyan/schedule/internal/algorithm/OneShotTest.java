package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OneShotTest {
    private static LinkMatrix links(String preset) {
        return LinkMatrix.of(Machine.preset(preset));
    }

    private static CollectiveRequest request(boolean inPlace) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, 1000, 4, inPlace, Long.MAX_VALUE);
    }

    @ParameterizedTest
    @CsvSource({"dgx-a100,1", "dgx-2,1", "pcie-8,1", "p3.8xlarge,1", "p3.16xlarge,2"})
    void roundsAreAsFewAsLinksAllow(String preset, int rounds) {
        assertThat(DirectRounds.of(links(preset))).hasSize(rounds);
    }

    @Test
    void quadsExchangeFirstOnTheHybridCubeMesh() {
        List<int[][]> rounds = DirectRounds.of(links("p3.16xlarge"));
        assertThat(rounds.getFirst()[1]).containsExactly(0, 1, 2, 3);
        assertThat(rounds.getFirst()[6]).containsExactlyInAnyOrder(4, 5, 6, 7);
        for (int[] pair : rounds.getLast()) {
            assertThat(pair).hasSize(2);
        }
    }

    /** No data goes between two devices of p3.16xlarge without an NVLink. */
    @Test
    void allDataGoesOverLinks() {
        LinkMatrix links = links("p3.16xlarge");
        Schedule schedule = new OneShotAlgorithm(links).schedule(request(true));
        for (Step step : schedule.chunks().getFirst().steps()) {
            step.sources()
                    .forEach(source -> assertThat(source.rank() == step.target().rank()
                                    || links.weight(source.rank(), step.target().rank()) > 0)
                            .isTrue());
        }
    }

    /** Every rank has the sum in the order of all others, in place too. */
    @ParameterizedTest
    @CsvSource({"dgx-a100,false", "dgx-a100,true", "p3.16xlarge,false", "p3.16xlarge,true"})
    void allRanksSumUpInOneOrder(String preset, boolean inPlace) {
        Schedule schedule = new OneShotAlgorithm(links(preset)).schedule(request(inPlace));
        var sums = ScheduleVerifier.verify(schedule).summations();
        assertThat(sums.stream().map(Object::toString).distinct().count()).isEqualTo(1);
        assertThat(schedule.chunks().getFirst().steps())
                .hasSize(preset.equals("dgx-a100") ? 8 * 8 + 8 : 8 * 4 + 8 + 8 * 2 + 8);
    }
}
