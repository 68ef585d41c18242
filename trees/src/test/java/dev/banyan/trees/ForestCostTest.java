package dev.banyan.trees;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class ForestCostTest {
    private static final BigFraction ONE = BigFraction.ONE;

    /** A link of 10 GB/s and 2 us, then one of 40 GB/s and 3 us up, 20 GB/s down. */
    private static final Machine LINE = Networks.machine(
            "line",
            3,
            0,
            List.of(Link.duplex(0, 1, Link.Kind.NVLINK, 1, 10, 2), new Link(1, 2, Link.Kind.NVLINK, 1, 20, 40, 3)));

    private static Tree line(int n) {
        return Tree.ofParents(IntStream.range(-1, n - 1).toArray());
    }

    private static List<PackedTree> equal(Tree... trees) {
        return PackedTree.of(Forest.equalShares(List.of(trees)));
    }

    private static Tree star(int n, int centre) {
        int[] parents = new int[n];
        Arrays.fill(parents, centre);
        parents[centre] = -1;
        return Tree.ofParents(parents);
    }

    @Test
    void aLineByHand() {
        ForestCost both = ForestCost.of(Network.of(LINE), equal(line(3)), Direction.UP_AND_DOWN);
        assertThat(both.depth()).isEqualTo(2);
        assertThat(both.stages()).isEqualTo(4);
        assertThat(both.trees()).isEqualTo(1);
        assertThat(both.rateGbs()).isEqualTo(BigFraction.of(10));
        assertThat(both.loads()).containsOnly(ONE);
        assertThat(both.latencyUs()).isEqualTo(10);
        // 1 MB at 10 GB/s take 100 us; three chunks of a quarter each fill the pipeline.
        assertThat(both.predictedUs(1_000_000, 4)).isCloseTo(185, within(1e-9));
        assertThat(both.predictedUs(1_000_000, 1)).isCloseTo(410, within(1e-9));
        assertThat(both.predictedUs(0, 1)).isEqualTo(10);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> both.predictedUs(-1, 1))
                .withMessageContaining("-1 bytes");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> both.predictedUs(1, 0))
                .withMessageContaining("0 chunks");
    }

    @Test
    void oneWayLoadsOneWay() {
        Network network = Network.of(LINE);
        List<PackedTree> last = equal(line(3).rerooted(2).rerooted(1));
        ForestCost up = ForestCost.of(network, last, Direction.UP);
        assertThat(up.stages()).isEqualTo(1);
        assertThat(up.latencyUs()).isEqualTo(3);
        assertThat(up.loads().get(network.arc(0, 1))).isEqualTo(ONE);
        assertThat(up.loads().get(network.arc(1, 0))).isEqualTo(BigFraction.ZERO);
        assertThat(up.loads().get(network.arc(2, 1))).isEqualTo(ONE);
        // The slow link doubled: the other one's narrow direction limits a broadcast, its wide one a reduction.
        Network fast = Network.of(Networks.machine(
                "fast",
                3,
                0,
                List.of(
                        Link.duplex(0, 1, Link.Kind.NVLINK, 1, 50, 2),
                        LINE.links().get(1))));
        assertThat(ForestCost.of(fast, last, Direction.DOWN).rateGbs()).isEqualTo(BigFraction.of(20));
        assertThat(ForestCost.of(fast, last, Direction.UP).rateGbs()).isEqualTo(BigFraction.of(40));
    }

    @Test
    void waysUpAndDownMayDiffer() {
        Machine ring =
                Networks.direct(4, new int[] {0, 1, 8}, new int[] {1, 2, 8}, new int[] {2, 3, 8}, new int[] {0, 3, 8});
        List<PackedTree> chains = new ArrayList<>();
        for (int end = 0; end < 4; end++) {
            int[] up = new int[4];
            int[] down = new int[4];
            for (int v = 0; v < 4; v++) {
                up[v] = v == end ? -1 : (v + 1) % 4;
                down[v] = v == end ? -1 : (v + 3) % 4;
            }
            chains.add(new PackedTree(BigFraction.of(1, 4), Tree.ofParents(up), Tree.ofParents(down)));
        }
        ForestCost cost = ForestCost.of(Network.of(ring), chains, Direction.UP_AND_DOWN);
        // One way around, 2(n-1)/n of the data over every link.
        assertThat(cost.rateGbs()).isEqualTo(BigFraction.of(16, 3));
        assertThat(cost.loads())
                .filteredOn(load -> load.signum() > 0)
                .hasSize(4)
                .containsOnly(BigFraction.of(3, 2));
        assertThat(cost.stages()).isEqualTo(6);
        assertThat(cost.depth()).isEqualTo(3);
    }

    @Test
    void starsOfEveryRankFillAnNvSwitch() {
        for (String name : List.of("dgx-2", "dgx-a100", "dgx-h100")) {
            Machine machine = Networks.preset(name);
            int n = machine.size();
            Network network = Network.of(machine);
            ForestCost cost = ForestCost.of(
                    network,
                    equal(IntStream.range(0, n).mapToObj(r -> star(n, r)).toArray(Tree[]::new)),
                    Direction.UP_AND_DOWN);
            double port = IntStream.range(network.firstOut(0), network.firstOut(1))
                    .mapToDouble(network::gbs)
                    .sum();
            assertThat(cost.rateGbs().doubleValue()).isCloseTo(port * n / (2 * (n - 1)), within(1e-9));
            assertThat(cost.depth()).isEqualTo(1);
            assertThat(cost.stages()).isEqualTo(2);
        }
    }

    @Test
    void treesThatNeedPcieArePricedOnAllLinks() {
        Machine p3 = Networks.preset("p3.16xlarge");
        int[] all = IntStream.range(0, 8).toArray();
        Tree star = star(8, 0);
        Network nvlinks = Network.of(p3);
        assertThat(nvlinks.joinedByNvlink()).isTrue();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ForestCost.of(nvlinks, equal(star), Direction.UP))
                .withMessageContaining("no path");
        ForestCost cost = ForestCost.of(p3, all, equal(star), Direction.UP);
        assertThat(cost.network().joinedByNvlink()).isFalse();
        // Three ranks have no NVLink to the centre: all come by its PCIe link.
        assertThat(cost.rateGbs().doubleValue()).isLessThan(10);
        ForestCost direct = ForestCost.of(p3, new int[] {0, 1, 2, 3}, equal(star(4, 0)), Direction.UP);
        assertThat(direct.network().joinedByNvlink()).isTrue();
        assertThat(direct.rateGbs()).isEqualTo(BigFraction.of(25));
    }

    @Test
    void pathsOfAPackingCount() {
        // Two switches between two devices, 30 and 10 GB/s.
        Machine machine = Networks.machine(
                "two ways",
                2,
                2,
                List.of(
                        Link.duplex(0, 2, Link.Kind.NVLINK, 1, 30, 1),
                        Link.duplex(1, 2, Link.Kind.NVLINK, 1, 30, 1),
                        Link.duplex(0, 3, Link.Kind.NVLINK, 1, 10, 4),
                        Link.duplex(1, 3, Link.Kind.NVLINK, 1, 10, 5)));
        Network network = Network.of(machine);
        List<LogicalLink> links = new ArrayList<>();
        for (int from = 0; from < 2; from++) {
            links.add(new LogicalLink(
                    from,
                    1 - from,
                    List.of(
                            new LogicalLink.Path(List.of(from, 2, 1 - from), BigFraction.of(3, 4)),
                            new LogicalLink.Path(List.of(from, 3, 1 - from), BigFraction.of(1, 4)))));
        }
        Bound bound = new Bound(BigFraction.of(80), new Certificate.Cut(List.of(0), false));
        TreePacking packing = new TreePacking(network, equal(line(2)), BigFraction.of(40), bound, links);
        ForestCost cost = ForestCost.of(packing, Direction.UP_AND_DOWN);
        assertThat(cost.rateGbs()).isEqualTo(BigFraction.of(40));
        assertThat(cost.latencyUs()).isEqualTo(18);
        assertThat(ForestCost.of(network, equal(line(2)), Direction.UP_AND_DOWN).rateGbs())
                .isEqualTo(BigFraction.of(30));
    }

    @Test
    void sharesOfForestsSumToExactlyOne() {
        Tree tree = line(2);
        assertThat(PackedTree.of(Forest.equalShares(List.of(tree, tree, tree))))
                .extracting(PackedTree::share)
                .containsOnly(BigFraction.of(1, 3));
        assertThat(PackedTree.of(new Forest(List.of(tree, tree), List.of(0.1, 0.9))).stream()
                        .map(PackedTree::share)
                        .reduce(BigFraction.ZERO, BigFraction::add))
                .isEqualTo(ONE);
    }

    /** Loads in floating point, link by link of every path from a rank to its root. */
    @Test
    void loadsAgreeWithCountingEdges() {
        Random random = new Random(3);
        for (int i = 0; i < 300; i++) {
            int n = 2 + random.nextInt(8);
            Machine machine = Networks.random(random, n, 6);
            Network network = Network.of(machine);
            List<Tree> trees = new ArrayList<>();
            List<Double> weights = new ArrayList<>();
            for (int t = 0; t < 1 + random.nextInt(6); t++) {
                trees.add(spanning(network, random));
                weights.add(1.0 + random.nextInt(9));
            }
            double sum = weights.stream().mapToDouble(Double::doubleValue).sum();
            List<PackedTree> shares = PackedTree.of(
                    new Forest(trees, weights.stream().map(w -> w / sum).toList()));
            ForestCost cost = ForestCost.of(network, shares, Direction.UP_AND_DOWN);
            double[][] expected = new double[n][n];
            for (int t = 0; t < trees.size(); t++) {
                for (int[] edge : trees.get(t).edges()) {
                    expected[edge[0]][edge[1]] += weights.get(t) / sum;
                    expected[edge[1]][edge[0]] += weights.get(t) / sum;
                }
            }
            double slowest = 0;
            for (int arc = 0; arc < network.arcs(); arc++) {
                double load = expected[network.from(arc)][network.to(arc)];
                assertThat(cost.loads().get(arc).doubleValue()).isCloseTo(load, within(1e-12));
                slowest = Math.max(slowest, load / network.gbs(arc));
            }
            assertThat(cost.rateGbs().doubleValue()).isCloseTo(1 / slowest, within(1e-9));
            int depth = trees.stream().mapToInt(Tree::depth).max().orElseThrow();
            assertThat(cost.depth()).isEqualTo(depth);
            assertThat(cost.latencyUs()).isEqualTo(2.0 * depth);
        }
    }

    private static Tree spanning(Network network, Random random) {
        int n = network.ranks();
        int[] parents = new int[n];
        Arrays.fill(parents, n);
        parents[random.nextInt(n)] = -1;
        for (int reached = 1; reached < n; ) {
            int arc = random.nextInt(network.arcs());
            if (parents[network.from(arc)] < n && parents[network.to(arc)] == n) {
                parents[network.to(arc)] = network.from(arc);
                reached++;
            }
        }
        return Tree.ofParents(parents);
    }
}
