package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.time.Duration;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The best packings of real and of random machines, run. */
class PackedMachinesTest {
    private static Machine preset(String name) {
        return Machine.preset(name);
    }

    private static void check(Network network) {
        PackedAlgorithm algorithm = new PackedAlgorithm(network);
        int n = network.ranks();
        for (Collective collective : Collective.values()) {
            int root = collective.hasRoot() ? n / 2 : -1;
            for (long count : new long[] {0, 1, n + 1, 5000}) {
                ScheduleVerifier.verify(algorithm.schedule(PackingChecks.request(collective, root, count, true)));
                ScheduleVerifier.verify(algorithm.schedule(PackingChecks.request(collective, root, count, false)));
            }
            PackingChecks.checkBytes(algorithm, collective, root);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "p3.8xlarge", "dgx-1p", "dgx-2", "dgx-a100", "mi250x8", "pcie-4", "pcie-8"})
    void presets(String name) {
        check(Network.of(preset(name)));
    }

    @Test
    void groupsJoinedByPcieOrByRelays() {
        check(Network.of(preset("p3.16xlarge"), new int[] {0, 1, 6}));
        check(Network.of(preset("p3.16xlarge"), new int[] {0, 1, 2, 4}, 3, 5, 6, 7));
    }

    @Test
    void everyCollectiveOfEverySizeOnP3() {
        PackingChecks.verifyAll(new PackedAlgorithm(Network.of(preset("p3.16xlarge"))));
    }

    @Test
    void hostGivesWhatAPlainLoopGives() {
        PackedAlgorithm algorithm = new PackedAlgorithm(Network.of(preset("p3.16xlarge")));
        try (HostBackend backend = new HostBackend(8, 2, Duration.ofMinutes(15))) {
            for (Collective collective : Collective.values()) {
                int root = collective.hasRoot() ? 5 : -1;
                for (long count : new long[] {0, 1, 9, 1000, 30_001}) {
                    for (boolean inPlace : new boolean[] {false, true}) {
                        CollectiveRequest request = PackingChecks.request(collective, root, count, inPlace);
                        PackingChecks.run(algorithm, backend, request, count);
                    }
                }
            }
        }
    }

    @Test
    void randomMachines() {
        onMachines(40);
    }

    @Test
    @Tag("soak")
    void twoThousandRandomMachines() {
        onMachines(2_000);
    }

    private static void onMachines(int machines) {
        IntStream.range(0, machines).parallel().forEach(machine -> {
            Network network = Network.of(Samples.machine(3 + machine % 8, false, new Random(machine)));
            check(network);
            assertThat(new PackedAlgorithm(network)
                            .packing(Collective.ALL_REDUCE, -1)
                            .ratio())
                    .isEqualTo(BigFraction.ONE);
        });
    }
}
