package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.ring.RingSet;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RingAlgorithmTest {
    @ParameterizedTest
    @CsvSource({"p3.16xlarge,4", "p3.8xlarge,4", "mi300x8,14", "gb200-nvl4,6", "dgx-a100,1", "pcie-4,1"})
    void theBestSetIsAsFastAsAnySetOfRings(String preset, int rings) {
        Machine machine = Machine.preset(preset);
        int[] all = IntStream.range(0, machine.size()).toArray();
        RingAlgorithm best = RingAlgorithm.of(machine, Integer.MAX_VALUE);
        var trees = best.trees(Collective.ALL_REDUCE, -1);
        assertThat(trees).hasSize(rings * machine.size());
        assertThat(ForestCost.of(machine, all, trees, Direction.UP_AND_DOWN).rateGbs())
                .isEqualTo(RingSet.of(machine, all).orElseThrow().rateGbs());
        for (Collective collective : Collective.values()) {
            int root = collective.hasRoot() ? 1 : -1;
            ScheduleVerifier.verify(
                    best.schedule(new CollectiveRequest(collective, root, 1000, 4, true, Long.MAX_VALUE)));
        }
    }

    @Test
    void theNumberOfRingsIsLimited() {
        Machine machine = Machine.preset("mi300x8");
        assertThat(RingAlgorithm.of(machine, 1).trees(Collective.ALL_REDUCE, -1))
                .isEqualTo(new RingAlgorithm(0, 1, 2, 3, 4, 5, 6, 7).trees(Collective.ALL_REDUCE, -1));
        for (int most = 2; most < 6; most++) {
            var trees = RingAlgorithm.of(machine, most).trees(Collective.ALL_REDUCE, -1);
            assertThat(trees).hasSizeBetween(2 * machine.size(), most * machine.size());
        }
    }
}
