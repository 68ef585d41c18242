package dev.banyan.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.algorithm.CollectiveRequest;
import dev.banyan.reduce.schedule.ScheduleVerifier;
import dev.banyan.reduce.type.Collective;
import dev.banyan.topology.Device;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class AlgorithmsTest {
    private static final Machine P3 = Presets.find("p3.16xlarge").orElseThrow();
    private static final Config BOUND = Config.builder().treeArrayBound(1000).build();

    private static CollectiveRequest request(Collective collective, long count) {
        return new CollectiveRequest(collective, collective.hasRoot() ? 0 : -1, count, 4, true, Long.MAX_VALUE);
    }

    private static Machine unconnected(int devices) {
        return new Machine(
                "bare",
                IntStream.range(0, devices).mapToObj(i -> Device.named("GPU" + i)).toList(),
                List.of(),
                List.of(),
                List.of(),
                List.of());
    }

    @Test
    void aboveTheArrayBoundLinksDecide() {
        Algorithms algorithms = new Algorithms(P3, BOUND);
        assertThat(algorithms.choose(request(Collective.ALL_REDUCE, 1000))).isEqualTo(AlgorithmChoice.SINGLE_TREE);
        for (Collective collective : Collective.values()) {
            AlgorithmChoice choice = algorithms.choose(request(collective, 20_000_000));
            assertThat(choice).as("%s", collective).isEqualTo(AlgorithmChoice.PACKING);
            assertThat(algorithms.of(request(collective, 20_000_000)).name()).isEqualTo("packing");
        }
        assertThat(algorithms.choose(request(Collective.ALL_REDUCE, 1001)))
                .isEqualTo(new Algorithms(P3, BOUND).choose(request(Collective.ALL_REDUCE, 1001)));
    }

    @Test
    void settingsComeFirst() {
        Config star = Config.builder().useTree(false).treeArrayBound(0).build();
        assertThat(new Algorithms(P3, star).choose(request(Collective.ALL_REDUCE, 1 << 30)))
                .isEqualTo(AlgorithmChoice.STAR);
        Config ring = Config.builder().algorithm(AlgorithmChoice.RING).build();
        assertThat(new Algorithms(P3, ring).choose(request(Collective.ALL_REDUCE, 1 << 30)))
                .isEqualTo(AlgorithmChoice.RING);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 6})
    void machinesWithoutAnyLinkWork(int devices) {
        for (AlgorithmChoice choice : List.of(AlgorithmChoice.AUTO, AlgorithmChoice.PACKING)) {
            Config config = Config.builder().algorithm(choice).treeArrayBound(0).build();
            Algorithms algorithms = new Algorithms(unconnected(devices), config);
            for (Collective collective : Collective.values()) {
                CollectiveRequest request = request(collective, 1000);
                ScheduleVerifier.verify(algorithms.of(request).schedule(request));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Collective.class)
    void groupsOfAllKindsWork(Collective collective) {
        for (int[] group : new int[][] {{0, 1, 6}, {0, 5}, {3, 0, 4, 7, 1}}) {
            Algorithms algorithms = new Algorithms(P3.subset(group), BOUND);
            CollectiveRequest request = request(collective, 100_000);
            ScheduleVerifier.verify(algorithms.of(request).schedule(request));
        }
    }
}
