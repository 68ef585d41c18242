package dev.banyan.schedule.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.Direction;
import dev.banyan.trees.packing.ForestCost;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;

class PricesTest {
    private static final List<AlgorithmChoice> COMPARED = List.of(
            AlgorithmChoice.PACKING, AlgorithmChoice.MULTI_TREE, AlgorithmChoice.SINGLE_TREE, AlgorithmChoice.STAR);

    /** The machine's algorithms that are compared, with the given packings. */
    private static Map<AlgorithmChoice, TreeAlgorithm> algorithms(Machine machine, PackedAlgorithm packed) {
        int n = machine.size();
        LinkMatrix matrix = LinkMatrix.of(machine);
        Map<AlgorithmChoice, TreeAlgorithm> algorithms = new EnumMap<>(AlgorithmChoice.class);
        algorithms.put(
                AlgorithmChoice.SINGLE_TREE,
                new ForestAlgorithm("single-tree", new KernighanLin().generate(matrix, 0)));
        algorithms.put(
                AlgorithmChoice.MULTI_TREE,
                new ForestAlgorithm(
                        "multi-tree",
                        new KernighanLin()
                                .generate(matrix, IntStream.range(0, n).toArray())));
        algorithms.put(AlgorithmChoice.PACKING, packed);
        algorithms.put(AlgorithmChoice.STAR, new StarAlgorithm(n));
        return algorithms;
    }

    /** Mostly bad ones. */
    private static PackedAlgorithm randomPackings(Machine machine, int trees, int seed) {
        return new PackedAlgorithm(machine.size(), Samples.packings(Network.of(machine), trees, seed));
    }

    private static Prices prices(Map<AlgorithmChoice, TreeAlgorithm> algorithms, Machine machine) {
        return new Prices(
                machine,
                choice -> algorithms.computeIfAbsent(choice.algorithm(), absent -> {
                    throw new AssertionError(absent + " is not to be made");
                }));
    }

    private static CollectiveRequest request(Collective collective, int root, long count, long chunkBytes) {
        return new CollectiveRequest(collective, root, count, 4, false, chunkBytes);
    }

    @Test
    void aSingleTreeByHand() {
        Machine p3 = Machine.preset("p3.16xlarge").subset(0, 1, 2, 3);
        Map<AlgorithmChoice, TreeAlgorithm> algorithms = algorithms(p3, randomPackings(p3, 2, 1));
        algorithms.put(
                AlgorithmChoice.SINGLE_TREE,
                new ForestAlgorithm("single-tree", Forest.equalShares(List.of(Tree.ofParents(-1, 0, 0, 1)))));
        Prices prices = prices(algorithms, p3);
        Network network = Network.of(p3);
        double hop = network.latencyUs(0);
        // 25 GB/s over links that are all in use both ways; depth 2. Of 1048.6 us, chunks of 2.2 us each: the root of
        // 476.6 times the stages but one, unless said otherwise.
        long count = 25 << 18;
        double us = 25.0 * (1 << 20) / 25e3;
        CollectiveRequest allReduce = request(Collective.ALL_REDUCE, -1, count, Long.MAX_VALUE);
        assertThat(prices.predictedUs(AlgorithmChoice.SINGLE_TREE, allReduce))
                .isCloseTo(us * (1 + 3 / 38.0) + 4 * hop, within(1e-6));
        CollectiveRequest whole = request(Collective.ALL_REDUCE, -1, count, 1L << 40);
        assertThat(prices.predictedUs(AlgorithmChoice.SINGLE_TREE, whole)).isCloseTo(us * 4 + 4 * hop, within(1e-6));
        CollectiveRequest broadcast = request(Collective.BROADCAST, 0, count, Long.MAX_VALUE);
        assertThat(prices.predictedUs(AlgorithmChoice.SINGLE_TREE, broadcast))
                .isCloseTo(us * (1 + 1 / 22.0) + 2 * hop, within(1e-6));
        // Hung up at 3 the tree is a line, and its links are used the other way: the same bandwidth.
        assertThat(prices.predictedUs(
                        AlgorithmChoice.SINGLE_TREE, request(Collective.REDUCE, 3, count, Long.MAX_VALUE)))
                .isCloseTo(us * (1 + 2 / 31.0) + 3 * hop, within(1e-6));
    }

    @Test
    void blocksCountAsTheWholeBuffer() {
        // Two devices, one link of 10 GB/s: every byte of half the buffer crosses it each way.
        Machine two = Machine.preset("p3.16xlarge").subset(0, 1);
        Prices prices = prices(algorithms(two, randomPackings(two, 1, 1)), two);
        double gbs = Network.of(two).gbs(0);
        double hop = Network.of(two).latencyUs(0);
        long count = 1_000_000;
        for (Collective collective : List.of(Collective.ALL_GATHER, Collective.REDUCE_SCATTER)) {
            assertThat(prices.predictedUs(AlgorithmChoice.STAR, request(collective, -1, count, Long.MAX_VALUE)))
                    .isCloseTo(4 * count / (gbs * 1e3) + hop, within(1e-6));
        }
    }

    @Test
    void theLeastPredictedTimeWins() {
        Random random = new Random(6);
        int packings = 0;
        int others = 0;
        for (int i = 0; i < 60; i++) {
            int n = 2 + random.nextInt(7);
            Machine machine = Samples.machine(n, false, random);
            Map<AlgorithmChoice, TreeAlgorithm> algorithms = algorithms(machine, randomPackings(machine, 8, i));
            Prices prices = prices(algorithms, machine);
            for (Collective collective : Collective.values()) {
                int root = collective.hasRoot() ? random.nextInt(n) : -1;
                long count = 1L << random.nextInt(26);
                CollectiveRequest request = request(collective, root, count, Long.MAX_VALUE);
                AlgorithmChoice choice = prices.cheapest(request);
                assertThat(choice)
                        .isEqualTo(COMPARED.stream()
                                .min(Comparator.comparingDouble(each -> prices.predictedUs(each, request)))
                                .orElseThrow())
                        .isEqualTo(prices(algorithms, machine).cheapest(request));
                packings += choice == AlgorithmChoice.PACKING ? 1 : 0;
                others += choice == AlgorithmChoice.PACKING ? 0 : 1;
            }
        }
        assertThat(packings).isPositive();
        assertThat(others).isPositive();
    }

    @Test
    void aGoodPackingIsTaken() {
        Machine quad = Machine.preset("p3.16xlarge").subset(0, 1, 2, 3);
        // 0-3, 3-2 and 2-1 have two links: one path over these, two over what is left, one link of each pair.
        List<PackedTree> trees = PackedTree.of(Forest.equalShares(
                List.of(Tree.ofParents(3, 2, 3, -1), Tree.ofParents(1, -1, 1, 2), Tree.ofParents(-1, 3, 0, 0))));
        BigFraction gbs = BigFraction.of(75);
        Bound bound =
                new Bound(gbs, new Certificate.Partition(List.of(List.of(0), List.of(1), List.of(2), List.of(3))));
        TreePacking packing = new TreePacking(Network.of(quad), trees, gbs, bound, List.of());
        assertThat(ForestCost.of(packing, Direction.UP_AND_DOWN).rateGbs()).isEqualTo(gbs);
        Map<AlgorithmChoice, TreeAlgorithm> algorithms =
                algorithms(quad, new PackedAlgorithm(4, (collective, root) -> packing));
        assertThat(prices(algorithms, quad).cheapest(request(Collective.ALL_REDUCE, -1, 1 << 24, Long.MAX_VALUE)))
                .isEqualTo(AlgorithmChoice.PACKING);
    }
}
