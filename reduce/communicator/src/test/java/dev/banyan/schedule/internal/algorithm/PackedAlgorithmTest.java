package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.banyan.reduce.internal.host.HostBackend;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whatever trees a packing is made of, it is run as it says. */
class PackedAlgorithmTest {
    private static PackedAlgorithm random(int n, int seed) {
        Random random = new Random(seed);
        Network network = Network.of(Samples.machine(n, seed % 3 == 0, random));
        return new PackedAlgorithm(n, Samples.packings(network, 8, seed));
    }

    @Test
    void everyCollectiveOfEverySizeIsRight() {
        for (int n = 2; n <= 9; n++) {
            PackedAlgorithm algorithm = random(n, n);
            assertThat(algorithm.ranks()).isEqualTo(n);
            assertThat(algorithm.name()).isEqualTo("packing");
            PackingChecks.verifyAll(algorithm);
        }
    }

    @Test
    void hostGivesWhatAPlainLoopGives() {
        for (int n = 2; n <= 8; n += 3) {
            PackedAlgorithm algorithm = random(n, 40 + n);
            try (HostBackend backend = new HostBackend(n, 2, Duration.ofMinutes(15))) {
                for (Collective collective : Collective.values()) {
                    int root = collective.hasRoot() ? n - 1 : -1;
                    for (long count : new long[] {0, 1, 5, 31, 1000, 70_001}) {
                        for (boolean inPlace : new boolean[] {false, true}) {
                            CollectiveRequest request = PackingChecks.request(collective, root, count, inPlace);
                            PackingChecks.run(algorithm, backend, request, count);
                        }
                    }
                }
            }
        }
    }

    @Test
    void linksCarryWhatTheSharesSay() {
        onMachines(200);
    }

    @Test
    @Tag("soak")
    void linksCarryWhatTheSharesSayOnTwoThousandMachines() {
        onMachines(2_000);
    }

    private static void onMachines(int machines) {
        IntStream.range(0, machines).parallel().forEach(machine -> {
            int n = 3 + machine % 8;
            PackedAlgorithm algorithm = random(n, machine);
            for (Collective collective : Collective.values()) {
                PackingChecks.checkBytes(algorithm, collective, collective.hasRoot() ? machine % n : -1);
            }
            Random random = new Random(machine);
            ScheduleVerifier.verify(algorithm.schedule(Samples.request(n, 500, random)));
        });
    }

    @Test
    void everyPackingIsMadeOnceWhoeverAsks() {
        int n = 5;
        Network network = Network.of(Samples.machine(n, false, new Random(1)));
        Packings source = Samples.packings(network, 4, 1);
        AtomicInteger calls = new AtomicInteger();
        PackedAlgorithm algorithm = new PackedAlgorithm(n, (collective, root) -> {
            calls.incrementAndGet();
            return source.packing(collective, root);
        });
        assertThat(calls).hasValue(0);
        List<TreePacking> packings = IntStream.range(0, 64)
                .parallel()
                .mapToObj(i -> algorithm.packing(Collective.BROADCAST, i % 2))
                .toList();
        assertThat(calls).hasValue(2);
        assertThat(packings)
                .allMatch(packing ->
                        packing.equals(packings.get(packing.trees().getFirst().root())));
        CollectiveRequest request = PackingChecks.request(Collective.BROADCAST, 1, 100, true);
        assertThat(algorithm.schedule(request)).isEqualTo(new PackedAlgorithm(n, source).schedule(request));
        assertThat(calls).hasValue(2);
    }

    @Test
    void treesOfTheWrongRootAreRefused() {
        Network network = Network.of(Samples.machine(4, false, new Random(1)));
        Packings right = Samples.packings(network, 3, 1);
        PackedAlgorithm wrong = new PackedAlgorithm(4, (collective, root) -> right.packing(Collective.BROADCAST, 2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> wrong.schedule(PackingChecks.request(Collective.REDUCE, 3, 8, true)))
                .withMessage("no tree of packing has root 3, so nothing carries its part of reduce");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> wrong.schedule(PackingChecks.request(Collective.ALL_GATHER, -1, 8, true)))
                .withMessageContaining("has root 0")
                .withMessageContaining("all_gather");
    }
}
