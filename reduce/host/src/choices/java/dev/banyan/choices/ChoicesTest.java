package dev.banyan.choices;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The automatic choice of allreduces, with whatever cost model is on the class path. */
class ChoicesTest {
    @ParameterizedTest
    @CsvSource({
        "p3.16xlarge, 1024, one-shot",
        "p3.16xlarge, 65536, one-shot",
        "p3.16xlarge, 1048576, packing/4",
        "p3.16xlarge, 16777216, ring",
        "dgx-a100, 1024, one-shot",
        "dgx-a100, 65536, one-shot",
        "dgx-a100, 1048576, packing",
        "dgx-a100, 16777216, packing",
        "pcie-8, 1024, one-shot",
        "pcie-8, 65536, star",
        "pcie-8, 1048576, ring",
        "pcie-8, 16777216, packing",
    })
    void theSameInThePublishedArtifactAndInTheCommand(String machine, long bytes, String choice) {
        Planner planner = Planner.of(Machine.preset(machine), Config.defaults());
        CollectiveRequest request = new CollectiveRequest(
                Collective.ALL_REDUCE, -1, bytes / Float.BYTES, Float.BYTES, true, Long.MAX_VALUE);
        assertThat(planner.choose(request)).hasToString(choice);
    }
}
