package dev.banyan.trees.packing.allreduce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Networks;
import dev.banyan.trees.Partitions;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class AllReducePackingTest {
    /** Checks what must hold of every packing; its rate is recomputed from its trees alone. */
    static TreePacking check(Network network, int maxTrees) {
        TreePacking packing = AllReducePacking.of(network, maxTrees);
        assertThat(packing.trees()).hasSizeBetween(1, maxTrees);
        Map<Integer, BigFraction> loads = new HashMap<>();
        BigFraction shares = BigFraction.ZERO;
        Set<Set<Set<Integer>>> different = new HashSet<>();
        for (PackedTree tree : packing.trees()) {
            assertThat(tree.up()).isEqualTo(tree.down());
            assertThat(tree.up().size()).isEqualTo(network.ranks());
            shares = shares.add(tree.share());
            Set<Set<Integer>> links = new HashSet<>();
            for (int[] link : tree.up().edges()) {
                links.add(Set.of(link[0], link[1]));
                for (int arc : network.direct()
                        ? new int[] {network.arc(link[0], link[1]), network.arc(link[1], link[0])}
                        : new int[] {
                            network.arc(link[0], network.ranks()), network.arc(network.ranks(), link[1]),
                            network.arc(link[1], network.ranks()), network.arc(network.ranks(), link[0])
                        }) {
                    assertThat(arc).isNotNegative();
                    loads.merge(arc, tree.share(), BigFraction::add);
                }
            }
            assertThat(different.add(links)).as("tree %s comes once", tree).isTrue();
        }
        assertThat(shares).isEqualTo(BigFraction.ONE);
        BigFraction rate = null;
        for (var load : loads.entrySet()) {
            BigFraction full =
                    network.unitGbs().multiply(network.capacity(load.getKey())).divide(load.getValue());
            rate = rate == null || full.compareTo(rate) < 0 ? full : rate;
        }
        assertThat(packing.rateGbs()).isEqualTo(rate);
        assertThat(ForestCost.of(packing, Direction.UP_AND_DOWN).rateGbs()).isEqualTo(rate);
        assertThat(packing.ratio()).isLessThanOrEqualTo(BigFraction.ONE);
        return packing;
    }

    private static TreePacking checkOptimal(Network network) {
        TreePacking packing = check(network, Integer.MAX_VALUE);
        assertThat(packing.ratio()).as(network.name()).isEqualTo(BigFraction.ONE);
        for (PackedTree tree : packing.trees()) {
            assertThat(tree.depth()).isEqualTo(leastDepth(tree.up()));
        }
        return packing;
    }

    private static int leastDepth(Tree tree) {
        int least = tree.depth();
        for (int root = 0; root < tree.size(); root++) {
            int depth = tree.rerooted(root).depth();
            assertThat(depth == tree.depth() && root < tree.root()).isFalse();
            least = Math.min(least, depth);
        }
        return least;
    }

    @Test
    void p3() {
        TreePacking packing = checkOptimal(Network.of(Networks.preset("p3.16xlarge")));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(600, 7));
        assertThat(packing.depth()).isLessThanOrEqualTo(3);
        assertThat(packing.trees()).hasSizeLessThanOrEqualTo(9);
    }

    @Test
    void dgx1p() {
        TreePacking packing = checkOptimal(Network.of(Networks.preset("dgx-1p")));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(320, 7));
        assertThat(packing.depth()).isLessThanOrEqualTo(3);
        assertThat(packing.trees()).hasSizeLessThanOrEqualTo(9);
    }

    @Test
    void mi250x8() {
        TreePacking packing = checkOptimal(Network.of(Networks.preset("mi250x8")));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(1200, 7));
        assertThat(packing.trees()).hasSizeLessThanOrEqualTo(12);
    }

    @Test
    void everyConnectedSubsetOfThePresets() {
        int subsets = 0;
        for (String preset : List.of("p3.16xlarge", "dgx-1p")) {
            for (int[] group : Networks.subsets(8, 3)) {
                Network network = Network.of(Networks.preset(preset), group);
                if (network.joinedByNvlink()) {
                    TreePacking packing = checkOptimal(network);
                    assertThat(packing.bound().gbs()).isEqualTo(Partitions.tauGbs(network));
                    subsets++;
                }
            }
        }
        assertThat(subsets).isEqualTo(2 * 181);
    }

    @Test
    void aCycleOfEightSingleLinks() {
        int[][] classes = Machines.classes(Machines.EIGHT_CYCLE);
        List<int[]> links = new ArrayList<>();
        for (int a = 0; a < 8; a++) {
            for (int b = a + 1; b < 8; b++) {
                if (classes[a][b] > 0) {
                    links.add(new int[] {a, b, 25});
                }
            }
        }
        TreePacking packing = checkOptimal(Network.of(Networks.direct(8, links.toArray(int[][]::new))));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(200, 7));
        assertThat(packing.trees()).hasSize(8);
        assertThat(packing.depth()).isEqualTo(4);
    }

    @Test
    void aTreeIsItsOwnPacking() {
        TreePacking packing = checkOptimal(
                Network.of(Networks.direct(4, new int[] {0, 1, 50}, new int[] {1, 2, 25}, new int[] {1, 3, 75})));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(25));
        assertThat(packing.trees()).containsExactly(PackedTree.of(BigFraction.ONE, Tree.ofParents(1, -1, 1, 1)));
    }

    @Test
    void twoDevices() {
        TreePacking packing = checkOptimal(Network.of(Networks.direct(2, new int[] {0, 1, 50})));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(50));
        assertThat(packing.trees()).containsExactly(PackedTree.of(BigFraction.ONE, Tree.ofParents(-1, 0)));
    }

    @Test
    void randomMachines() {
        Random random = new Random(1);
        for (int i = 0; i < 800; i++) {
            Network network = Network.of(Networks.random(random, 3 + random.nextInt(8), 6));
            TreePacking packing = checkOptimal(network);
            if (network.ranks() <= 7) {
                assertThat(packing.bound().gbs()).isEqualTo(Partitions.tauGbs(network));
            }
        }
    }

    @Test
    @Tag("soak")
    void randomMachinesOfNineAndTen() {
        Random random = new Random(2);
        for (int i = 0; i < 100; i++) {
            Network network = Network.of(Networks.random(random, 9 + random.nextInt(2), 6));
            assertThat(checkOptimal(network).bound().gbs()).isEqualTo(Partitions.tauGbs(network));
        }
    }

    /** Bandwidths as somebody measured them: no two alike, so their common unit is small. */
    @Test
    void measuredBandwidths() {
        Random random = new Random(3);
        for (int i = 0; i < 50; i++) {
            checkOptimal(measured(random, 3 + random.nextInt(6)));
        }
    }

    private static Network measured(Random random, int ranks) {
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < ranks; b++) {
            int parent = random.nextInt(b);
            for (int a = 0; a < b; a++) {
                if (a == parent || random.nextBoolean()) {
                    double gbs = (random.nextBoolean() ? 2250 : 4800) / 100.0 + random.nextInt(100) / 100.0;
                    links.add(Link.duplex(a, b, Link.Kind.NVLINK, 1, gbs, 1));
                }
            }
        }
        return Network.of(Networks.machine("measured", ranks, 0, links));
    }

    @Test
    void manyDevices() {
        checkOptimal(Network.of(sparse(32)));
        checkOptimal(Network.of(dense(24)));
    }

    @Test
    @Tag("soak")
    void veryManyDevices() {
        checkOptimal(Network.of(sparse(256)));
        checkOptimal(Network.of(dense(64)));
        Random random = new Random(4);
        checkOptimal(measured(random, 32));
    }

    /** Three random rings of one lane or two. */
    private static Machine sparse(int devices) {
        Random random = new Random(devices);
        Map<Set<Integer>, Integer> lanes = new LinkedHashMap<>();
        for (int ring = 0; ring < 3; ring++) {
            List<Integer> order = new ArrayList<>();
            for (int device = 0; device < devices; device++) {
                order.add(random.nextInt(order.size() + 1), device);
            }
            for (int i = 0; i < devices; i++) {
                lanes.putIfAbsent(Set.of(order.get(i), order.get((i + 1) % devices)), 1 + random.nextInt(2));
            }
        }
        List<int[]> links = new ArrayList<>();
        lanes.forEach((ends, count) -> {
            int[] pair = ends.stream().mapToInt(Integer::intValue).sorted().toArray();
            links.add(new int[] {pair[0], pair[1], 25 * count});
        });
        return Networks.direct(devices, links.toArray(int[][]::new));
    }

    private static Machine dense(int devices) {
        Random random = new Random(devices);
        List<int[]> links = new ArrayList<>();
        for (int b = 1; b < devices; b++) {
            for (int a = 0; a < b; a++) {
                links.add(new int[] {a, b, 25 * (1 + random.nextInt(2))});
            }
        }
        return Networks.direct(devices, links.toArray(int[][]::new));
    }

    @Test
    void sameInputSamePacking() {
        Random random = new Random(5);
        for (int i = 0; i < 50; i++) {
            Network network = Network.of(Networks.random(random, 3 + random.nextInt(8), 6));
            assertThat(AllReducePacking.of(network)).isEqualTo(AllReducePacking.of(network));
        }
        Network p3 = Network.of(Networks.preset("p3.16xlarge"));
        assertThat(AllReducePacking.of(p3, 3)).isEqualTo(AllReducePacking.of(p3, 3));
    }

    @Test
    void fewTreesOfP3() {
        Network network = Network.of(Networks.preset("p3.16xlarge"));
        BigFraction last = BigFraction.ZERO;
        for (int count = 1; count <= 8; count++) {
            TreePacking packing = check(network, count);
            assertThat(packing.ratio()).isGreaterThanOrEqualTo(last);
            last = packing.ratio();
            if (count == 6) {
                assertThat(last).isGreaterThanOrEqualTo(BigFraction.of(97, 100));
            }
        }
        assertThat(last).isEqualTo(BigFraction.ONE);
    }

    @Test
    void oneTreeIsAWidestOne() {
        Random random = new Random(6);
        for (int i = 0; i < 10; i++) {
            Network network = Network.of(Networks.random(random, 3 + random.nextInt(6), 6));
            BigFraction last = check(network, 1).rateGbs();
            assertThat(last).isEqualTo(network.unitGbs().multiply(widest(network)));
            for (int count = 2; count <= 3; count++) {
                BigFraction rate = check(network, count).rateGbs();
                assertThat(rate).isGreaterThanOrEqualTo(last);
                last = rate;
            }
        }
    }

    /** The greatest capacity such that links at least so wide join all ranks. */
    private static long widest(Network network) {
        long widest = 0;
        for (int arc = 0; arc < network.arcs(); arc++) {
            boolean[] found = new boolean[network.ranks()];
            Deque<Integer> queue = new ArrayDeque<>(List.of(0));
            int count = 0;
            while (!queue.isEmpty()) {
                int rank = queue.remove();
                if (!found[rank]) {
                    found[rank] = true;
                    count++;
                    for (int out = network.firstOut(rank); out < network.firstOut(rank + 1); out++) {
                        if (network.capacity(out) >= network.capacity(arc)) {
                            queue.add(network.to(out));
                        }
                    }
                }
            }
            if (count == network.ranks()) {
                widest = Math.max(widest, network.capacity(arc));
            }
        }
        return widest;
    }

    @Test
    void oneSwitch() {
        assertStars("dgx-2", BigFraction.of(80), 16);
        assertStars("dgx-a100", BigFraction.of(1200, 7), 8);
        assertStars("dgx-h100", BigFraction.of(1800, 7), 8);
    }

    private static void assertStars(String preset, BigFraction gbs, int trees) {
        TreePacking packing = checkOptimal(Network.of(Networks.preset(preset)));
        assertThat(packing.rateGbs()).isEqualTo(gbs);
        assertThat(packing.depth()).isEqualTo(1);
        assertThat(packing.trees()).hasSize(trees);
        assertThat(packing.links()).hasSize(trees * (trees - 1));
    }

    @Test
    void oneSwitchOfUnevenLinks() {
        Random random = new Random(7);
        for (int i = 0; i < 200; i++) {
            int ranks = 2 + random.nextInt(9);
            int spread = 1 + random.nextInt(9);
            List<Link> links = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                links.add(Link.duplex(rank, ranks, Link.Kind.NVLINK, 1, 25 * (1 + random.nextInt(spread)), 1));
            }
            Network network = Network.of(Networks.machine("switched", ranks, 1, links));
            assertThat(checkOptimal(network).depth()).isEqualTo(1);
            BigFraction last = BigFraction.ZERO;
            for (int count = 1; count <= ranks; count++) {
                BigFraction rate = check(network, count).rateGbs();
                assertThat(rate).isGreaterThanOrEqualTo(last);
                last = rate;
            }
        }
    }

    @Test
    void fewTreesThroughOneSwitch() {
        Network network = Network.of(Networks.preset("dgx-2"));
        // A chain loads a device with 2 links; a star, with 15.
        assertThat(check(network, 1).ratio()).isEqualTo(BigFraction.of(15, 16));
        assertThat(check(network, 8).ratio()).isEqualTo(BigFraction.ONE);
    }

    @Test
    void refusesNoTrees() {
        assertThatThrownBy(() -> AllReducePacking.of(Networks.p3Subset(0, 1, 2), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at least 1");
    }
}
