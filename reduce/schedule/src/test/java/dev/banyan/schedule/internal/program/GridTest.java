package dev.banyan.schedule.internal.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Presets;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GridTest {
    /** Lanes of one ring are neighbours. Links would idle if all blocks took one half of the rings first. */
    @ParameterizedTest
    @ValueSource(ints = {16, 32, 48})
    void neighbouringLanesShareBlocksEvenly(int most) {
        Planner planner = Planner.ofNamed(Presets.find("p3.16xlarge").orElseThrow(), Config.defaults());
        CollectiveRequest request =
                new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 24, Float.BYTES, true, 1 << 20);
        ProgramLayout layout = ProgramLayout.of(
                planner.plan(AlgorithmConfig.of(AlgorithmChoice.RING), request).schedule(),
                ProgramSizes.DEFAULT.withBlocks(most));
        List<Lane> lanes = layout.program().lanes();
        long longest = lanes.stream().mapToLong(Lane::bytes).max().orElseThrow();
        assertThat(lanes).anyMatch(lane -> lane.bytes() < longest);
        for (List<List<Grid.Loop>> blocks : layout.grid().blocks()) {
            assertThat(blocks).anyMatch(block -> block.size() > 1);
            for (List<Grid.Loop> block : blocks) {
                long bytes = lanes
                        .subList(block.getFirst().lane(), block.getLast().lane() + 1)
                        .stream()
                        .mapToLong(Lane::bytes)
                        .sum();
                // A lane may have two moves on a rank.
                assertThat(bytes).isLessThan(2L * (1 << 26) / most + longest);
            }
        }
    }
}
