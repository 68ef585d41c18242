package dev.banyan.trees.packing.allreduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Networks;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ChainPackingTest {
    private static Link pcie(int a, int b, double gbs) {
        return Link.duplex(a, b, Link.Kind.PCIE, 16, gbs, 2);
    }

    /** Devices at switches, so many at each, and the switches at one more. */
    private static Network switches(double uplink, int... devices) {
        int all = IntStream.of(devices).sum();
        List<Link> links = new ArrayList<>();
        int device = 0;
        for (int i = 0; i < devices.length; i++) {
            for (int j = 0; j < devices[i]; j++) {
                links.add(pcie(device++, all + i, 12));
            }
            links.add(pcie(all + i, all + devices.length, uplink));
        }
        return Network.of(Networks.machine("switches", all, devices.length + 1, links));
    }

    private static Set<Integer> receivers(TreePacking packing, int rank) {
        Set<Integer> receivers = new TreeSet<>();
        for (PackedTree tree : packing.trees()) {
            if (tree.up().parent(rank) >= 0) {
                receivers.add(tree.up().parent(rank));
            }
            for (int child : tree.down().children(rank)) {
                receivers.add(child);
            }
        }
        return receivers;
    }

    @ParameterizedTest
    @ValueSource(strings = {"pcie-4", "pcie-8", "p2.16xlarge"})
    void presetsOfPcieReachTheBoundByAChainToEachRank(String preset) {
        Network network = Network.of(Networks.preset(preset));
        TreePacking packing = AllReducePacking.of(network);
        assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
        assertThat(packing.trees().stream().mapToInt(PackedTree::root))
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.range(0, network.ranks()).boxed().toList());
        assertThat(ForestCost.of(packing, Direction.UP_AND_DOWN).rateGbs()).isEqualTo(packing.rateGbs());
    }

    @Test
    void aRankSendsToTheNextAlone() {
        for (Network network : List.of(switches(12, 4), switches(12, 3, 2, 4), switches(24, 2, 2))) {
            TreePacking packing = AllReducePacking.of(network);
            int n = network.ranks();
            assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
            for (int rank = 0; rank < n; rank++) {
                assertThat(receivers(packing, rank)).containsExactly((rank + 1) % n);
            }
        }
    }

    @Test
    void narrowLinksCutTheRingSoThatEachTreeCrossesThemOnce() {
        TreePacking packing = AllReducePacking.of(Network.of(Networks.preset("pcie-8")));
        assertThat(receivers(packing, 0)).containsExactly(1);
        assertThat(receivers(packing, 3)).containsExactly(0, 4);
        assertThat(receivers(packing, 7)).containsExactly(0, 4);
        for (PackedTree tree : packing.trees()) {
            assertThat(crossings(tree)).containsExactly(1, 1);
        }
    }

    private static int[] crossings(PackedTree tree) {
        int[] crossings = new int[2];
        for (int rank = 0; rank < 8; rank++) {
            if (rank != tree.root()) {
                crossings[0] += rank / 4 == tree.up().parent(rank) / 4 ? 0 : 1;
                crossings[1] += rank / 4 == tree.down().parent(rank) / 4 ? 0 : 1;
            }
        }
        return crossings;
    }

    /** 8 devices of 12 GB/s can do 48/7; a chain through sections needs 8 of the 14 transfers there. */
    @ParameterizedTest
    @CsvSource({"12, 48/7", "10, 48/7", "7, 48/7", "6, 6", "3, 3"})
    void aCutRingIsAsFastAsTheNarrowLinksLetAnyTreesBe(double uplink, String gbs) {
        TreePacking packing = AllReducePacking.of(switches(uplink, 4, 4));
        assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.parse(gbs));
    }

    @Test
    void chainsAreTakenOnlyWhereTheyAreAsFastAsTheBest() {
        Random random = new Random(73);
        int taken = 0;
        for (int i = 0; i < 60; i++) {
            int[] devices = random.ints(2 + random.nextInt(3), 1, 4).toArray();
            Network network = switches(3 + random.nextInt(20), devices);
            TreePacking packing = AllReducePacking.of(network);
            assertThat(packing.ratio()).isEqualTo(BigFraction.ONE);
            assertThat(ForestCost.of(packing, Direction.UP_AND_DOWN).rateGbs()).isEqualTo(packing.rateGbs());
            var chains = ChainPacking.of(network, packing.bound());
            if (chains.isPresent() && chains.orElseThrow().ratio().equals(BigFraction.ONE)) {
                assertThat(packing).isEqualTo(chains.orElseThrow());
                taken++;
            }
        }
        assertThat(taken).isBetween(10, 55);
    }

    @Test
    void fewerTreesThanRanksAreNoChains() {
        Network network = Network.of(Networks.preset("pcie-8"));
        assertThat(AllReducePacking.of(network, 7).trees()).hasSizeLessThan(8);
        assertThat(AllReducePacking.of(network, 8).trees()).hasSize(8);
    }

    @ParameterizedTest
    @ValueSource(strings = {"dgx-2", "dgx-a100", "mi250x8"})
    void otherLinksKeepTheirTrees(String preset) {
        Network network = Network.of(Networks.preset(preset));
        assertThat(ChainPacking.of(network, AllReducePacking.of(network).bound()))
                .isEmpty();
    }

    @Test
    void aSecondLinkOfARankIsNotLeftUnused() {
        Machine machine = Networks.machine(
                "second link", 3, 1, List.of(pcie(0, 3, 12), pcie(1, 3, 12), pcie(2, 3, 12), pcie(0, 1, 12)));
        Network network = Network.of(machine);
        assertThat(ChainPacking.of(network, AllReducePacking.of(network).bound()))
                .isEmpty();
    }
}
