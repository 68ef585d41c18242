package dev.banyan.trees.packing.program;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.trees.HubMachines;
import dev.banyan.trees.Networks;
import dev.banyan.trees.Partitions;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class HubPackingTest {
    private static TreePacking optimal(Network network) {
        TreePacking packing = new HubPacking(network).ofAtMost(Integer.MAX_VALUE);
        PackingChecks.check(packing);
        assertThat(packing.ratio()).as(network.name()).isEqualTo(BigFraction.ONE);
        return packing;
    }

    private static int[] all(Machine machine) {
        return IntStream.range(0, machine.size()).toArray();
    }

    @Test
    void reachesTheBoundOnEveryPreset() {
        for (Machine machine : Presets.all()) {
            TreePacking packing = optimal(Network.of(machine));
            TreePacking overAllLinks = optimal(Network.ofAllLinks(machine, all(machine)));
            assertThat(overAllLinks.rateGbs()).isGreaterThanOrEqualTo(packing.rateGbs());
        }
    }

    @Test
    void isOneStarPerRankOnOneSwitch() {
        TreePacking packing = optimal(Network.of(Networks.preset("dgx-2")));
        assertThat(packing.rateGbs().doubleValue()).isEqualTo(80);
        assertThat(packing.depth()).isEqualTo(1);
        assertThat(packing.trees()).hasSize(16);
    }

    @Test
    void usesTwoSwitchPlanesAtOnce() {
        TreePacking packing = optimal(Network.of(HubMachines.planes(8, 50, 25)));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(75 * 8, 14));
        assertThat(packing.depth()).isEqualTo(1);
        assertThat(packing.trees()).hasSize(8);
        assertThat(packing.links())
                .hasSize(56)
                .anySatisfy(link -> assertThat(link.paths()).hasSize(2));
    }

    @Test
    void socketsAndSwitches() {
        for (int devices : new int[] {4, 8, 16}) {
            TreePacking packing = optimal(Network.of(HubMachines.sockets(devices)));
            assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(125 * devices, 20 * (devices - 1)));
        }
    }

    @Test
    void packsSixtyFourDevices() {
        Network network = Network.of(HubMachines.planes(64, 50, 25));
        TreePacking packing = new HubPacking(network).ofAtMost(Integer.MAX_VALUE);
        assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(75 * 64, 2 * 63));
    }

    @Test
    void randomMachinesWithHubs() {
        Random random = new Random(20250101);
        for (int i = 0; i < 200; i++) {
            optimal(Network.of(HubMachines.random(random, 3 + random.nextInt(8), 1 + random.nextInt(4), true)));
        }
    }

    @Test
    void randomMachinesWithUnevenLinks() {
        Random random = new Random(20250102);
        for (int i = 0; i < 80; i++) {
            optimal(Network.of(HubMachines.random(random, 3 + random.nextInt(6), 1 + random.nextInt(4), false)));
        }
    }

    @Test
    void agreesWithTheProgramOfAllPartitions() {
        Random random = new Random(20250103);
        for (int i = 0; i < 40; i++) {
            Network network =
                    Network.of(HubMachines.random(random, 2 + random.nextInt(4), 1 + random.nextInt(3), true));
            double units = optimal(network).rateGbs().divide(network.unitGbs()).doubleValue();
            assertThat(units).as(network.name()).isCloseTo(PartitionProgram.optimum(network), within(1e-6));
        }
    }

    @Test
    void agreesWithThePartitionBoundWithoutHubs() {
        Random random = new Random(20250104);
        for (int i = 0; i < 60; i++) {
            Network network = Network.of(Networks.random(random, 2 + random.nextInt(5), 6));
            assertThat(optimal(network).rateGbs()).isEqualTo(Partitions.tauGbs(network));
        }
    }

    @Test
    void islandsJoinedOverPcieAreAsFastAsEitherTechnology() {
        Machine p3 = Networks.preset("p3.16xlarge");
        int hybrids = 0;
        for (int[] group : Networks.subsets(8, 3)) {
            Network network = Network.of(p3, group);
            if (!network.joinedByNvlink()) {
                TreePacking packing = optimal(network);
                Network pcie = Network.of(withoutNvLinks(p3), group);
                assertThat(packing.rateGbs())
                        .isGreaterThanOrEqualTo(optimal(pcie).rateGbs());
                hybrids++;
            }
        }
        assertThat(hybrids).isEqualTo(219 - 181);
    }

    private static Machine withoutNvLinks(Machine machine) {
        return Networks.machine(
                machine.name() + "-pcie",
                machine.size(),
                machine.nodeCount() - machine.size(),
                machine.links().stream()
                        .filter(link -> !link.kind().isNvLinkClass())
                        .toList());
    }

    @Test
    void morePathsThanNvLinksAreNeverSlower() {
        Machine p3 = Networks.preset("p3.16xlarge");
        for (int[] group : Networks.subsets(8, 5)) {
            Network nvlinks = Network.of(p3, group);
            if (nvlinks.joinedByNvlink()) {
                assertThat(optimal(Network.ofAllLinks(p3, group)).rateGbs())
                        .isGreaterThanOrEqualTo(optimal(nvlinks).rateGbs());
            }
        }
    }

    @Test
    void relaysNeverSlowAJobDown() {
        Machine p3 = Networks.preset("p3.16xlarge");
        int faster = 0;
        for (int[] group : Networks.subsets(8, 4)) {
            Network without = Network.of(p3, group);
            if (group.length == 4 && without.joinedByNvlink()) {
                int[] relays = IntStream.range(0, 8)
                        .filter(device -> Arrays.stream(group).noneMatch(member -> member == device))
                        .toArray();
                BigFraction alone = optimal(without).rateGbs();
                BigFraction relayed = optimal(Network.of(p3, group, relays)).rateGbs();
                assertThat(relayed).isGreaterThanOrEqualTo(alone);
                faster += relayed.compareTo(alone) > 0 ? 1 : 0;
            }
        }
        assertThat(faster).isPositive();
    }

    @Test
    void stagesThroughHostMemoryWhereNothingElseJoins() {
        Machine machine = Networks.direct(4, new int[] {0, 1, 25}, new int[] {2, 3, 25});
        TreePacking packing = optimal(Network.of(machine));
        assertThat(packing.rateGbs().doubleValue()).isGreaterThanOrEqualTo(LinkMatrix.HOST_STAGED_GBS);
    }

    @Test
    void goesEachWayOverTheWiderLinks() {
        // A directed ring of wide links, narrow against it: up one way round, down the same way.
        Machine machine = Networks.machine(
                "one-way",
                3,
                0,
                List.of(
                        new Link(0, 1, Link.Kind.NVLINK, 1, 40, 1, 1),
                        new Link(1, 2, Link.Kind.NVLINK, 1, 40, 1, 1),
                        new Link(2, 0, Link.Kind.NVLINK, 1, 40, 1, 1)));
        TreePacking packing = optimal(Network.of(machine));
        // Every tree has four transfers, and 123 GB/s are all there is.
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(123, 4));
        assertThat(packing.trees()).anySatisfy(tree -> assertThat(tree.up()).isNotEqualTo(tree.down()));
    }

    @Test
    void fewerTreesAreNeverFasterAndAlwaysThere() {
        for (String name : List.of("pcie-8", "dgx-a100", "p3.16xlarge")) {
            Network network = Network.of(Networks.preset(name));
            BigFraction last = BigFraction.ZERO;
            for (int trees : new int[] {1, 2, 3, 6, 16}) {
                TreePacking packing = new HubPacking(network).ofAtMost(trees);
                PackingChecks.check(packing);
                assertThat(packing.trees()).hasSizeLessThanOrEqualTo(trees);
                assertThat(packing.rateGbs()).isGreaterThanOrEqualTo(last);
                last = packing.rateGbs();
            }
        }
    }

    @Test
    void threeTreesFillTheSwitchOfEightDevices() {
        assertThat(new HubPacking(Network.of(Networks.preset("dgx-a100")))
                        .ofAtMost(3)
                        .ratio())
                .isEqualTo(BigFraction.ONE);
    }

    @Test
    void oneTreeOfUnevenLinks() {
        Random random = new Random(20250105);
        for (int i = 0; i < 20; i++) {
            Network network = Network.of(HubMachines.random(random, 3 + random.nextInt(4), 2, false));
            TreePacking packing = new HubPacking(network).ofAtMost(1);
            PackingChecks.check(packing);
            assertThat(packing.trees()).hasSize(1);
        }
    }

    @Test
    void whateverTheEffortTheStatementHolds() {
        Random random = new Random(20250106);
        for (int i = 0; i < 20; i++) {
            Network network =
                    Network.of(HubMachines.random(random, 4 + random.nextInt(6), 1 + random.nextInt(4), i % 2 == 0));
            BigFraction optimum = optimal(network).rateGbs();
            for (long effort = 1; effort < 1_000_000; effort *= 20) {
                TreePacking packing = new HubPacking(network, effort).ofAtMost(4);
                PackingChecks.check(packing);
                assertThat(packing.rateGbs()).isLessThanOrEqualTo(optimum);
                assertThat(packing.bound().gbs()).isGreaterThanOrEqualTo(optimum);
            }
        }
    }

    @Test
    void isTheSameEveryTime() {
        for (int trees : new int[] {5, Integer.MAX_VALUE}) {
            TreePacking first = new HubPacking(Network.of(Networks.preset("pcie-8"))).ofAtMost(trees);
            TreePacking second = new HubPacking(Network.of(Networks.preset("pcie-8"))).ofAtMost(trees);
            assertThat(second.trees()).isEqualTo(first.trees());
            assertThat(second.links()).isEqualTo(first.links());
            assertThat(second.bound()).isEqualTo(first.bound());
        }
        // Written down, so that other runs and other machines are held to it.
        Tree from0 = Tree.ofParents(-1, 0, 3, 0);
        Tree from1 = Tree.ofParents(1, -1, 1, 2);
        assertThat(new HubPacking(Network.of(Networks.preset("pcie-4")))
                        .ofAtMost(Integer.MAX_VALUE)
                        .trees())
                .containsExactly(
                        PackedTree.of(BigFraction.of(1, 2), from0), PackedTree.of(BigFraction.of(1, 2), from1));
    }
}
