package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.banyan.schedule.ScheduleTraffic;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class ScheduleLoadsTest {
    @Test
    void ringOnARingOfLinksIsAsFastAsItsSlowestLink() {
        // Along links of at least 25 GB/s each way, of which each carries 2 * 7/8 of the data.
        ScheduleTraffic ring = ScheduleTraffic.of(new RingAlgorithm(0, 1, 2, 3, 7, 6, 5, 4)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 8 << 10, 4, true, Long.MAX_VALUE)));
        Network network = Network.of(Machine.preset("p3.16xlarge"));
        assertThat(ScheduleLoads.of(ring, network).rateGbs()).isEqualTo(BigFraction.of(100, 7));
        Network larger = Network.of(Machine.preset("dgx-2"));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ScheduleLoads.of(ring, larger))
                .withMessageContaining("8 ranks on a network of 16");
    }
}
