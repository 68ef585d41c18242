package dev.banyan.study.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.simulate.Profiles;
import dev.banyan.study.training.Gradient;
import dev.banyan.study.training.TrainingStep;
import dev.banyan.topology.Machine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class DesignTest {
    /** Keys as models have them: many small ones, some large, the largest towards the output. */
    private static final TrainingStep STEP = step();

    private static TrainingStep step() {
        Random random = new Random(7);
        List<Long> elements = new ArrayList<>();
        for (int key = 0; key < 120; key++) {
            elements.add(key % 3 == 0 ? 10_000L << random.nextInt(1 + key / 15) : 64L * (1 + key / 30));
        }
        return new TrainingStep(elements, 150_000);
    }

    private static Map<Design, Double> us(Cluster cluster, CallOrder order) {
        KeyCosts costs = new KeyCosts(cluster, AllReduceRule.LEAST_TIME);
        Map<Design, Double> times = new EnumMap<>(Design.class);
        for (Design design : Design.values()) {
            times.put(design, STEP.us(design.store(costs, order)));
        }
        return times;
    }

    private static double time(Map<Design, Double> times, Design design) {
        return Objects.requireNonNull(times.get(design));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4, 8, 16, 32, 64, 256, 4096})
    void aChainBeatsGroupsAndGroupsBeatTheFunnel(int machines) {
        for (double oversubscription : new double[] {1, 4}) {
            Map<Design, Double> times =
                    us(Clusters.of(machines, new Fabric(12.5, 1, 2, 18, oversubscription)), CallOrder.INPUT_FIRST);
            assertThat(time(times, Design.DEPCHA)).isLessThanOrEqualTo(time(times, Design.CONCUM));
            assertThat(time(times, Design.CONCUM)).isLessThanOrEqualTo(time(times, Design.FUNNEL));
            assertThat(time(times, Design.DEPCHA)).isGreaterThanOrEqualTo(STEP.computeUs());
        }
    }

    @ParameterizedTest
    @EnumSource(CallOrder.class)
    void twiceTheMachinesAreNeverFaster(CallOrder order) {
        Map<Design, Double> before = us(Clusters.of(1), order);
        for (int machines = 2; machines <= 4096; machines *= 2) {
            Map<Design, Double> times = us(Clusters.of(machines), order);
            for (Design design : Design.values()) {
                assertThat(time(times, design))
                        .as("%s on %d machines", design, machines)
                        .isGreaterThanOrEqualTo(time(before, design));
            }
            before = times;
        }
    }

    @Test
    void gradientsThatAreReadyOneAfterAnotherHideAllButTheLast() {
        Map<Design, Double> times = us(Clusters.of(16), CallOrder.OUTPUT_FIRST);
        assertThat(times.values()).allSatisfy(us -> assertThat(us).isCloseTo(STEP.computeUs(), within(500.0)));
    }

    /** Whatever joins it to others, one machine's own allreduce is all there is. */
    @Test
    void oneMachineHasNoNetwork() {
        Map<Design, Double> slow = us(Clusters.of(1, new Fabric(1e-3, 1, 1e5, 2, 9)), CallOrder.INPUT_FIRST);
        assertThat(slow).isEqualTo(us(Clusters.of(1), CallOrder.INPUT_FIRST));
        KeyCosts one = new KeyCosts(Clusters.of(1), AllReduceRule.LEAST_TIME);
        KeyCosts two = new KeyCosts(Clusters.of(2), AllReduceRule.LEAST_TIME);
        assertThat(one.us(1 << 20)).isLessThan(two.us(1 << 20) / 2);
        double[] done = Design.DEPCHA.store(one, CallOrder.INPUT_FIRST).doneUs(List.of(new Gradient(1 << 20, 100)));
        assertThat(done[0]).isCloseTo(100 + one.us(1 << 20) + HostCosts.ASSUMED.handoverUs(), within(1e-6));
    }

    @Test
    void theSameClusterTakesTheSameTime() {
        assertThat(us(Clusters.of(48), CallOrder.INPUT_FIRST)).isEqualTo(us(Clusters.of(48), CallOrder.INPUT_FIRST));
    }

    @Test
    void theFunnelWaitsForEachKey() {
        KeyCosts costs = new KeyCosts(Clusters.of(8), AllReduceRule.LEAST_TIME);
        List<Gradient> keys = Collections.nCopies(20, new Gradient(100_000, 0));
        double one = last(Design.FUNNEL, costs, keys.subList(0, 1));
        assertThat(last(Design.FUNNEL, costs, keys)).isGreaterThan(10 * one);
        assertThat(last(Design.DEPCHA, costs, keys)).isLessThan(last(Design.FUNNEL, costs, keys));
    }

    private static double last(Design design, KeyCosts costs, List<Gradient> keys) {
        return Arrays.stream(design.store(costs, CallOrder.INPUT_FIRST).doneUs(keys))
                .max()
                .orElseThrow();
    }

    @Test
    void moreNicsAreFaster() {
        Cluster one = Clusters.of(16, new Fabric(12.5, 1, 2, 18, 1));
        Cluster four = Clusters.of(16, new Fabric(12.5, 4, 2, 18, 1));
        assertThat(new KeyCosts(four, AllReduceRule.LEAST_TIME).us(1 << 24))
                .isLessThan(0.5 * new KeyCosts(one, AllReduceRule.LEAST_TIME).us(1 << 24));
    }

    @Test
    void presetsMakeClustersToo() {
        for (String name : List.of("p3.16xlarge", "dgx-2", "pcie-8")) {
            Machine machine = Machine.preset(name);
            Cluster cluster =
                    new Cluster(machine, Profiles.of(machine), 4, new Fabric(12.5, 2, 2, 18, 1), HostCosts.ASSUMED);
            assertThat(new KeyCosts(cluster, AllReduceRule.LEAST_TIME).us(1 << 20))
                    .as(name)
                    .isGreaterThan(100);
        }
    }

    @Test
    void impossibleClustersAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Clusters.of(0))
                .withMessage("a cluster of 0 machines; it must have from 1 to 1048576");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fabric(0, 1, 2, 18, 1))
                .withMessage("a NIC has 0.0 GB/s; it must be above 0 and at most 1000000");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fabric(1, 0, 2, 18, 1))
                .withMessageContaining("NICs");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fabric(1, 1, -1, 18, 1))
                .withMessageContaining("us");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fabric(1, 1, 2, 0, 1))
                .withMessageContaining("leaf");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Fabric(1, 1, 2, 18, 0.5))
                .withMessageContaining("oversubscribed 0.5 times");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Clusters.of(2, new Fabric(1, 5, 2, 18, 1)))
                .withMessageContaining("4 devices for 5 NICs");
        assertThatIllegalArgumentException().isThrownBy(() -> new HostCosts(1, 1, Double.NaN, 1, 1));
        assertThatIllegalArgumentException().isThrownBy(() -> new HostCosts(1, 1, 1, 0, 1));
    }
}
