package dev.banyan.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.type.Collective;
import java.util.Random;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class ScheduleTrafficTest {
    @Test
    void agreesWithTheProof() {
        for (int i = 0; i < 300; i++) {
            Random random = new Random(i);
            int n = 1 + random.nextInt(6);
            Schedule schedule =
                    Samples.algorithms(n, random).get(random.nextInt(5)).schedule(Samples.request(n, 40, random));
            ScheduleProof proof = ScheduleVerifier.verify(schedule);
            ScheduleTraffic traffic = ScheduleTraffic.of(schedule);
            assertThat(traffic.ranks()).isEqualTo(n);
            assertThat(traffic.steps()).isEqualTo(proof.steps());
            boolean blocks = schedule.collective() == Collective.REDUCE_SCATTER
                    || schedule.collective() == Collective.ALL_GATHER;
            assertThat(traffic.dataBytes()).isEqualTo(schedule.count() * schedule.elementBytes() * (blocks ? n : 1));
            for (int from = 0; from < n; from++) {
                for (int to = 0; to < n; to++) {
                    assertThat(traffic.bytesBetween(from, to)).isEqualTo(proof.bytesBetween(from, to));
                    BigFraction share = traffic.shareBetween(from, to);
                    assertThat(share.multiply((int) traffic.dataBytes()).longValue())
                            .isEqualTo(proof.bytesBetween(from, to));
                }
            }
        }
    }

    @Test
    void countsReadsOfAKWayStepOneByOne() {
        Schedule ring = new RingAlgorithm(0, 1, 2, 3)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1000, 4, true, Long.MAX_VALUE));
        ScheduleTraffic traffic = ScheduleTraffic.of(ring);
        assertThat(traffic.transfers()).isEqualTo(24);
    }
}
