package dev.banyan.trees.packing.branching;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Cuts;
import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.TreePacking;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link RootedPacking} and {@link GatherPacking}. */
class BroadcastPackingTest {
    private static final int ANY = Integer.MAX_VALUE;

    /** All four collectives at the bound exactly. */
    private static void checkOptimal(Network network, int root) {
        TreePacking broadcast = RootedPacking.broadcast(network, root, ANY);
        SpreadChecks.check(network, broadcast, List.of(root), false);
        Cuts.checkRooted(network, broadcast.bound(), root, false);
        assertThat(broadcast.ratio()).isEqualTo(BigFraction.ONE);
        TreePacking reduce = RootedPacking.reduce(network, root, ANY);
        SpreadChecks.check(network, reduce, List.of(root), true);
        Cuts.checkRooted(network, reduce.bound(), root, true);
        assertThat(reduce.ratio()).isEqualTo(BigFraction.ONE);
        TreePacking allGather = GatherPacking.allGather(network, ANY);
        SpreadChecks.check(network, allGather, ranks(network), false);
        Cuts.checkGather(network, allGather.bound(), false);
        assertThat(allGather.ratio()).isEqualTo(BigFraction.ONE);
        TreePacking reduceScatter = GatherPacking.reduceScatter(network, ANY);
        SpreadChecks.check(network, reduceScatter, ranks(network), true);
        Cuts.checkGather(network, reduceScatter.bound(), true);
        assertThat(reduceScatter.ratio()).isEqualTo(BigFraction.ONE);
    }

    private static List<Integer> ranks(Network network) {
        return IntStream.range(0, network.ranks()).boxed().toList();
    }

    @Test
    void p3FromEveryRoot() {
        Network network = Network.of(Networks.preset("p3.16xlarge"));
        for (int root = 0; root < 8; root++) {
            TreePacking packing = RootedPacking.broadcast(network, root, ANY);
            SpreadChecks.check(network, packing, List.of(root), false);
            assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(150));
            assertThat(packing.trees()).hasSizeLessThanOrEqualTo(6);
            assertThat(RootedPacking.reduce(network, root, ANY).rateGbs()).isEqualTo(BigFraction.of(150));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-1p"})
    void allSubsetsAreOptimal(String preset) {
        Machine machine = Networks.preset(preset);
        for (int[] subset : Networks.subsets(8, 2)) {
            checkOptimal(Network.of(machine, subset), subset.length - 1);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"p3.8xlarge", "pcie-4", "pcie-8", "p2.16xlarge", "dgx-2", "dgx-a100", "dgx-h100", "mi250x8"})
    void presetsAreOptimal(String preset) {
        checkOptimal(Network.of(Networks.preset(preset)), 1);
    }

    /** Broadcasts go to one rank and from there to all; blocks go straight to all. */
    @ParameterizedTest
    @CsvSource({"dgx-2,150", "dgx-a100,300", "dgx-h100,450"})
    void treesThroughOneSwitchAreAsShallowAsCanBe(String preset, int gbs) {
        Network network = Network.of(Networks.preset(preset));
        int n = network.ranks();
        TreePacking broadcast = RootedPacking.broadcast(network, 0, ANY);
        assertThat(broadcast.rateGbs()).isEqualTo(BigFraction.of(gbs));
        assertThat(broadcast.depth()).isEqualTo(2);
        assertThat(broadcast.trees()).hasSize(n - 1);
        TreePacking allGather = GatherPacking.allGather(network, 1);
        assertThat(allGather.rateGbs()).isEqualTo(BigFraction.of(gbs * n, n - 1));
        assertThat(allGather.depth()).isEqualTo(1);
        assertThat(allGather.trees()).hasSize(n);
    }

    private static void checkRandom(long seed, int count) {
        Random random = new Random(seed);
        for (int i = 0; i < count; i++) {
            int devices = 3 + random.nextInt(8);
            Machine direct = Networks.random(random, devices, 6);
            int root = random.nextInt(devices);
            checkOptimal(Network.of(direct), root);
            checkOptimal(Network.of(Networks.unevenly(random, direct, 6)), root);
            int few = 2 + random.nextInt(7);
            Machine hubs = Networks.randomWithHubs(random, few, 1 + random.nextInt(4), 6);
            checkOptimal(Network.of(hubs), random.nextInt(few));
        }
    }

    @Test
    void randomMachinesAreOptimal() {
        checkRandom(7, 40);
    }

    @Tag("soak")
    @Test
    void manyRandomMachinesAreOptimal() {
        checkRandom(8, 600);
    }

    /** Forwarders with more out of them than into them, or less: what is stated is true, and mostly the bound. */
    @Test
    void unevenForwardersGiveTrueRates() {
        Random random = new Random(11);
        int optimal = 0;
        for (int i = 0; i < 40; i++) {
            int devices = 2 + random.nextInt(5);
            Network network = Network.of(
                    Networks.unevenly(random, Networks.randomWithHubs(random, devices, 1 + random.nextInt(3), 6), 6));
            int root = random.nextInt(devices);
            TreePacking broadcast = RootedPacking.broadcast(network, root, ANY);
            SpreadChecks.check(network, broadcast, List.of(root), false);
            TreePacking reduce = RootedPacking.reduce(network, root, ANY);
            SpreadChecks.check(network, reduce, List.of(root), true);
            TreePacking allGather = GatherPacking.allGather(network, ANY);
            SpreadChecks.check(network, allGather, ranks(network), false);
            TreePacking reduceScatter = GatherPacking.reduceScatter(network, ANY);
            SpreadChecks.check(network, reduceScatter, ranks(network), true);
            for (TreePacking packing : List.of(broadcast, reduce, allGather, reduceScatter)) {
                assertThat(packing.ratio()).isGreaterThan(BigFraction.of(1, 2));
                optimal += packing.ratio().equals(BigFraction.ONE) ? 1 : 0;
            }
        }
        assertThat(optimal).isGreaterThan(150);
    }

    /** Device 0 sends 10 into a switch that could send 10 to each of the others, which can't answer it. */
    @Test
    void aForwarderThatWouldHaveToCopyHalvesTheRate() {
        Network network = Network.of(Networks.machine(
                "one-way",
                3,
                1,
                List.of(
                        new Link(0, 3, Link.Kind.PCIE, 1, 10, 10, 1),
                        new Link(1, 3, Link.Kind.PCIE, 1, 1, 10, 1),
                        new Link(2, 3, Link.Kind.PCIE, 1, 1, 10, 1))));
        TreePacking packing = RootedPacking.broadcast(network, 0, ANY);
        SpreadChecks.check(network, packing, List.of(0), false);
        assertThat(packing.bound().gbs()).isEqualTo(BigFraction.of(10));
        assertThat(packing.rateGbs()).isBetween(BigFraction.of(5), BigFraction.of(6));
    }

    @Test
    void moreTreesAreNeverSlower() {
        Random random = new Random(13);
        for (int i = 0; i < 12; i++) {
            Network network = i % 2 == 0
                    ? Network.of(Networks.random(random, 3 + random.nextInt(5), 6))
                    : Network.of(Networks.randomWithHubs(random, 3 + random.nextInt(4), 2, 6));
            BigFraction broadcast = BigFraction.ZERO;
            BigFraction allGather = BigFraction.ZERO;
            for (int most = 1; most <= 6; most++) {
                TreePacking rooted = RootedPacking.broadcast(network, 0, most);
                SpreadChecks.check(network, rooted, List.of(0), false);
                assertThat(rooted.trees()).hasSizeLessThanOrEqualTo(most);
                assertThat(rooted.rateGbs()).isGreaterThanOrEqualTo(broadcast);
                broadcast = rooted.rateGbs();
                TreePacking gather = GatherPacking.allGather(network, most);
                SpreadChecks.check(network, gather, ranks(network), false);
                assertThat(treesOfTheRootWithMost(gather)).isLessThanOrEqualTo(most);
                assertThat(gather.rateGbs()).isGreaterThanOrEqualTo(allGather);
                allGather = gather.rateGbs();
            }
        }
    }

    private static int treesOfTheRootWithMost(TreePacking packing) {
        return packing.trees().stream()
                .mapToInt(tree -> (int) packing.trees().stream()
                        .filter(other -> other.root() == tree.root())
                        .count())
                .max()
                .orElseThrow();
    }

    /** Its rate is that of the narrowest link of a maximum spanning tree, by Kruskal's algorithm. */
    @Test
    void oneTreeIsTheWidest() {
        Random random = new Random(17);
        for (int i = 0; i < 30; i++) {
            int devices = 2 + random.nextInt(9);
            Machine machine = Networks.random(random, devices, 6);
            TreePacking packing = RootedPacking.broadcast(Network.of(machine), random.nextInt(devices), 1);
            assertThat(packing.trees()).hasSize(1);
            assertThat(packing.rateGbs().doubleValue()).isEqualTo(widestBottleneck(machine));
        }
    }

    private static double widestBottleneck(Machine machine) {
        int[] part = IntStream.range(0, machine.size()).toArray();
        double narrowest = Double.MAX_VALUE;
        for (Link link : machine.links().stream()
                .sorted((a, b) -> Double.compare(b.gbsAToB(), a.gbsAToB()))
                .toList()) {
            int a = part[link.a()];
            int b = part[link.b()];
            if (a != b) {
                narrowest = link.gbsAToB();
                for (int i = 0; i < part.length; i++) {
                    part[i] = part[i] == a ? b : part[i];
                }
            }
        }
        return narrowest;
    }

    @Test
    void sameNetworkSameTrees() {
        for (String preset : List.of("p3.16xlarge", "pcie-8")) {
            Network network = Network.of(Networks.preset(preset));
            for (int most : new int[] {ANY, 2}) {
                assertThat(RootedPacking.broadcast(network, 2, most))
                        .isEqualTo(RootedPacking.broadcast(network, 2, most));
                assertThat(GatherPacking.reduceScatter(network, most))
                        .isEqualTo(GatherPacking.reduceScatter(network, most));
            }
        }
    }

    @Test
    void twoDevices() {
        Network network = Network.of(Networks.direct(2, new int[] {0, 1, 7}));
        TreePacking broadcast = RootedPacking.broadcast(network, 1, 1);
        assertThat(broadcast.rateGbs()).isEqualTo(BigFraction.of(7));
        assertThat(broadcast.trees()).hasSize(1);
        assertThat(GatherPacking.reduceScatter(network, 1).rateGbs()).isEqualTo(BigFraction.of(14));
        checkOptimal(network, 0);
    }

    @Test
    void devicesWithoutAnyConnectionMeetInHostMemory() {
        checkOptimal(Network.of(Networks.direct(4, new int[] {0, 1, 25}, new int[] {2, 3, 25})), 2);
    }

    @Test
    void relaysForward() {
        Machine machine = Networks.preset("p3.16xlarge");
        Network network = Network.of(machine, new int[] {0, 1, 2, 4}, 3, 5, 6, 7);
        checkOptimal(network, 0);
        assertThat(RootedPacking.broadcast(network, 0, ANY).rateGbs())
                .isGreaterThan(RootedPacking.broadcast(Network.of(machine, new int[] {0, 1, 2, 4}), 0, ANY)
                        .rateGbs());
    }

    @Test
    void refuseWhatCantBe() {
        Network network = Network.of(Networks.preset("dgx-a100"));
        assertThatThrownBy(() -> RootedPacking.broadcast(network, 8, 1)).hasMessageContaining("root 8");
        assertThatThrownBy(() -> RootedPacking.reduce(network, -1, 1)).hasMessageContaining("root -1");
        assertThatThrownBy(() -> RootedPacking.broadcast(network, 0, 0)).hasMessageContaining("at least one");
        assertThatThrownBy(() -> GatherPacking.allGather(network, 0)).hasMessageContaining("at least one");
    }
}
