package dev.banyan.page.study;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.config.Config;
import dev.banyan.page.model.SetModel;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Machine;
import java.util.List;
import org.junit.jupiter.api.Test;

class SetStudyTest {
    @Test
    void setsHaveTheLimitsOfTheCommandBound() {
        Machine machine = Machine.preset("dgx-h100");
        SetStudy study = new SetStudy(
                ChosenMachine.whole(machine, null),
                new DrawnLinks(machine),
                List.of(AlgorithmConfig.of(AlgorithmChoice.PACKING)),
                Config.defaults());
        SetModel whole = study.of(0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(whole.counted()).isEqualTo("NVLink, no reduction in switches");
        assertThat(whole.beyond())
                .hasSize(2)
                .noneMatch(phrase -> phrase.contains("NVLink"))
                .last()
                .asString()
                .endsWith(" GB/s over all links, PCIe as well, with reduction in switches");
        assertThat(study.of(0, 1, 2, 3).beyond()).containsExactly("360 GB/s over NVLink, with reduction in switches");
    }
}
