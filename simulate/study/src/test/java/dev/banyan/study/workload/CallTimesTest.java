package dev.banyan.study.workload;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.topology.Machine;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CallTimesTest {
    /** Around NVSwitches kernels exchange without slots. */
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-a100", "dgx-h100", "pcie-8"})
    void aRowOfOneCallTakesAsLongAsTheCall(String name) {
        Machine machine = Machine.preset(name);
        SimulatedCosts costs = new SimulatedCosts(machine, Profiles.of(machine), Execution.PROGRAMS);
        Predictions predictions = new Predictions(machine, Config.defaults(), costs);
        for (int bytes = 1 << 12; bytes <= 1 << 24; bytes <<= 4) {
            CollectiveRequest request = Predictions.request(Collective.ALL_REDUCE, -1, machine.size(), bytes, true);
            PlannedSchedule planned = predictions.plan(request);
            assertThat(new CallTimes(costs, List.of(planned)).endUs(1)).isEqualTo(predictions.us(planned));
        }
    }
}
