package dev.banyan.trees.bound;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Networks;
import dev.banyan.trees.Partitions;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class AllReduceBoundTest {
    @Test
    void presets() {
        assertThat(gbs("p3.16xlarge")).isEqualTo(BigFraction.of(600, 7));
        assertThat(gbs("dgx-1p")).isEqualTo(BigFraction.of(320, 7));
        assertThat(gbs("mi250x8")).isEqualTo(BigFraction.of(1200, 7));
        assertThat(gbs("dgx-2")).isEqualTo(BigFraction.of(80));
        assertThat(gbs("dgx-a100")).isEqualTo(BigFraction.of(1200, 7));
        assertThat(gbs("dgx-h100")).isEqualTo(BigFraction.of(1800, 7));
    }

    private static BigFraction gbs(String preset) {
        return AllReduceBound.of(Network.of(Networks.preset(preset))).gbs();
    }

    @Test
    void isTheLeastOfAllPartitions() {
        Random random = new Random(1);
        for (int i = 0; i < 1000; i++) {
            Network network = Network.of(Networks.random(random, 2 + random.nextInt(7), 1 + random.nextInt(60)));
            Bound bound = AllReduceBound.of(network);
            assertThat(bound.gbs()).isEqualTo(Partitions.tauGbs(network));
            assertThat(ofCertificate(network, bound)).isEqualTo(bound.gbs());
            assertThat(AllReduceBound.of(network)).isEqualTo(bound);
        }
    }

    /** Recomputes the bound from the partition, after checking that it is one. */
    private static BigFraction ofCertificate(Network network, Bound bound) {
        List<List<Integer>> parts = ((Certificate.Partition) bound.certificate()).parts();
        int[] part = new int[network.ranks()];
        Arrays.fill(part, -1);
        List<Integer> firsts = new ArrayList<>();
        for (int p = 0; p < parts.size(); p++) {
            assertThat(parts.get(p)).isSorted();
            firsts.add(parts.get(p).getFirst());
            for (int rank : parts.get(p)) {
                assertThat(part[rank]).isEqualTo(-1);
                part[rank] = p;
            }
        }
        assertThat(part).doesNotContain(-1);
        assertThat(firsts).isSorted();
        return BigFraction.of(Partitions.crossing(network, part), parts.size() - 1)
                .multiply(network.unitGbs());
    }

    @Test
    void twoIslandsOnAThinLink() {
        Network network = Network.of(Networks.direct(
                6,
                new int[] {0, 2, 50},
                new int[] {2, 4, 50},
                new int[] {0, 4, 50},
                new int[] {1, 3, 50},
                new int[] {3, 5, 50},
                new int[] {1, 5, 50},
                new int[] {4, 1, 25}));
        Bound bound = AllReduceBound.of(network);
        assertThat(bound.gbs()).isEqualTo(BigFraction.of(25));
        assertThat(bound.certificate())
                .isEqualTo(new Certificate.Partition(List.of(List.of(0, 2, 4), List.of(1, 3, 5))));
    }

    /** A ring of 512 with a chord from each: too many partitions to try, but as even as can be. */
    @Test
    void manyRanks() {
        List<int[]> links = new ArrayList<>();
        for (int rank = 0; rank < 512; rank++) {
            links.add(new int[] {rank, (rank + 1) % 512, 25});
            links.add(new int[] {rank, (rank + 37) % 512, 25});
        }
        Network network = Network.of(Networks.direct(512, links.toArray(int[][]::new)));
        Bound bound = AllReduceBound.of(network);
        assertThat(bound.gbs()).isEqualTo(BigFraction.of(2 * 512 * 25, 511));
        assertThat(ofCertificate(network, bound)).isEqualTo(bound.gbs());
    }

    @Test
    void oneSwitchOfUnevenLinks() {
        Random random = new Random(2);
        for (int i = 0; i < 200; i++) {
            int ranks = 2 + random.nextInt(3);
            int spread = 1 + random.nextInt(9);
            Network network = Network.of(Networks.machine("switched", ranks, 1, spokes(ranks, random, spread)));
            assertThat(AllReduceBound.isOneSwitch(network)).isTrue();
            Bound bound = AllReduceBound.of(network);
            long sum = 0;
            long least = Long.MAX_VALUE;
            for (int rank = 0; rank < ranks; rank++) {
                long capacity = network.capacity(network.arc(rank, ranks));
                sum += capacity;
                least = Math.min(least, capacity);
            }
            BigFraction average = BigFraction.of(sum, 2L * (ranks - 1));
            BigFraction expected = average.compareTo(BigFraction.of(least)) < 0 ? average : BigFraction.of(least);
            assertThat(bound.gbs()).isEqualTo(expected.multiply(network.unitGbs()));
            checkPrices(network, bound);
        }
    }

    private static List<Link> spokes(int ranks, Random random, int spread) {
        List<Link> links = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            links.add(Link.duplex(rank, ranks, Link.Kind.NVLINK, 1, 25 * (1 + random.nextInt(spread)), 1));
        }
        return links;
    }

    /** The prices of all capacities sum to the bound; every pair of trees, one up and one down, costs at least 1. */
    private static void checkPrices(Network network, Bound bound) {
        Certificate.Prices prices = (Certificate.Prices) bound.certificate();
        BigFraction whole = BigFraction.ZERO;
        for (var price : prices.prices().entrySet()) {
            assertThat(price.getValue().signum()).isPositive();
            whole = whole.add(price.getValue().multiply(network.capacity(price.getKey())));
        }
        assertThat(whole.multiply(network.unitGbs())).isEqualTo(bound.gbs());
        int ranks = network.ranks();
        int[] parents = new int[ranks];
        for (int root = 0; root < ranks; root++) {
            List<BigFraction> up = new ArrayList<>();
            List<BigFraction> down = new ArrayList<>();
            int codes = (int) Math.pow(ranks, ranks);
            for (int code = 0; code < codes; code++) {
                int digits = code;
                for (int rank = 0; rank < ranks; rank++) {
                    parents[rank] = digits % ranks;
                    digits /= ranks;
                }
                if (parents[root] == root && leadsTo(parents, root)) {
                    BigFraction upwards = BigFraction.ZERO;
                    BigFraction downwards = BigFraction.ZERO;
                    for (int rank = 0; rank < ranks; rank++) {
                        if (rank != root) {
                            upwards = upwards.add(hop(network, prices, rank, parents[rank]));
                            downwards = downwards.add(hop(network, prices, parents[rank], rank));
                        }
                    }
                    up.add(upwards);
                    down.add(downwards);
                }
            }
            assertThat(Collections.min(up).add(Collections.min(down))).isGreaterThanOrEqualTo(BigFraction.ONE);
        }
    }

    private static boolean leadsTo(int[] parents, int root) {
        for (int rank = 0; rank < parents.length; rank++) {
            int above = rank;
            for (int i = 0; i < parents.length; i++) {
                above = parents[above];
            }
            if (above != root) {
                return false;
            }
        }
        return true;
    }

    private static BigFraction hop(Network network, Certificate.Prices prices, int from, int to) {
        int hub = network.ranks();
        return prices.prices()
                .getOrDefault(network.arc(from, hub), BigFraction.ZERO)
                .add(prices.prices().getOrDefault(network.arc(hub, to), BigFraction.ZERO));
    }

    @Test
    void leavesTheRestToTheLinearProgram() {
        assertThat(AllReduceBound.isOneSwitch(Network.of(Networks.preset("p3.16xlarge"))))
                .isFalse();
        Machine uneven = Networks.machine("uneven", 2, 0, List.of(new Link(0, 1, Link.Kind.NVLINK, 1, 50, 25, 1)));
        assertThatThrownBy(() -> AllReduceBound.of(Network.of(uneven)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("wider one way")
                .hasMessageContaining("AllReducePacking");
        Network hybrid = Network.of(Networks.preset("p3.16xlarge"), new int[] {0, 1, 6});
        assertThatThrownBy(() -> AllReduceBound.of(hybrid))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("forwarders");
    }
}
