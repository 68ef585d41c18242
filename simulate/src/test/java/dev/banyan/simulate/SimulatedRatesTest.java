package dev.banyan.simulate;

import static dev.banyan.simulate.Samples.IDEAL;
import static dev.banyan.simulate.Samples.allReduce;
import static dev.banyan.simulate.Samples.preset;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.topology.Link;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole algorithms against what is known of them. */
class SimulatedRatesTest {
    private static final long GIB = 1L << 30;

    private static double gbs(Network network, Profile profile, CollectiveAlgorithm algorithm, long chunkBytes) {
        Simulation simulation = new Simulator(network, List.of(), profile).run(allReduce(algorithm, GIB, chunkBytes));
        return GIB / simulation.endUs() / 1e3;
    }

    private static Forest stars(int ranks) {
        return Forest.equalShares(IntStream.range(0, ranks)
                .mapToObj(root -> {
                    int[] parents = new int[ranks];
                    Arrays.fill(parents, root);
                    parents[root] = -1;
                    return Tree.ofParents(parents);
                })
                .toList());
    }

    /** Returns the rate that the busiest link permits at full efficiency. */
    private static double byLoads(Network network, Forest forest) {
        LinkLoads loads = new LinkLoads(network);
        for (Tree tree : forest.trees()) {
            loads.addUp(BigFraction.of(1, forest.trees().size()), tree);
            loads.addDown(BigFraction.of(1, forest.trees().size()), tree);
        }
        return loads.rateGbs().doubleValue();
    }

    /** Patarasuk and Yuan: 2(n-1) steps of an n-th of the data. */
    @ParameterizedTest
    @ValueSource(ints = {3, 4, 8, 13})
    void aRingTakesItsStepsTimesAnNth(int ranks) {
        long bytes = 64L * ranks * 10_000;
        double step = 64 * 10_000 / 25e3;
        double end = new Simulator(Samples.circle(ranks, 25), List.of(), IDEAL)
                .run(allReduce(new RingAlgorithm(IntStream.range(0, ranks).toArray()), bytes, Long.MAX_VALUE))
                .endUs();
        // The model's memory is 40,000 times as fast as the links, not infinitely fast.
        assertThat(end).isEqualTo(2 * (ranks - 1) * step, within(2 * ranks * step / 10_000));
    }

    @Test
    void aRingPaysItsLatencyForEachStep() {
        Profile profile = Samples.ideal(Constant.NVLINK_HOP_US, 3)
                .with(Constant.LAUNCH_US, 0.5, "test")
                .with(Constant.KERNEL_US, 2, "test")
                .with(Constant.COLLECTIVE_US, 10, "test");
        double end = new Simulator(Samples.circle(8, 25), List.of(), profile)
                .run(allReduce(new RingAlgorithm(0, 1, 2, 3, 4, 5, 6, 7), 32, Long.MAX_VALUE))
                .endUs();
        // Seven steps up with a kernel each, seven down.
        assertThat(end).isEqualTo(10 + 14 * 3.5 + 7 * 2.5, within(0.01));
    }

    /** A binary tree of depth d, whole: up d levels with all children at once, down d levels. */
    @Test
    void aBinaryTreeTakesTwiceItsDepth() {
        Tree tree = Tree.ofParents(-1, 0, 0, 1, 1, 2, 2);
        double end = new Simulator(Samples.allToAll(7, 10), List.of(), IDEAL)
                .run(allReduce(
                        new ForestAlgorithm("tree", new Forest(List.of(tree), List.of(1.0))),
                        10_000_000,
                        Long.MAX_VALUE))
                .endUs();
        assertThat(end).isEqualTo(4000, within(0.2));
    }

    @Test
    void aStarThroughASwitchFillsItsCentresLink() {
        double end = new Simulator(Samples.around(8, 10), List.of(), IDEAL)
                .run(allReduce(new StarAlgorithm(8, 3), 10_000_000, Long.MAX_VALUE))
                .endUs();
        assertThat(end).isEqualTo(14_000, within(0.2));
    }

    /** One-hop trees through one switch reach its bound, b n / (2(n-1)), less the efficiency. */
    @ParameterizedTest
    @ValueSource(strings = {"dgx-2", "dgx-a100", "dgx-h100"})
    void starsFromEveryDeviceReachASwitchsBound(String name) {
        Machine machine = preset(name);
        Network network = Network.of(machine);
        Profile profile = Profiles.of(machine);
        int n = machine.size();
        double bound = network.gbs(0) * n / (2.0 * (n - 1));
        double rate = gbs(network, profile, new ForestAlgorithm("stars", stars(n)), 1 << 19);
        assertThat(rate / (bound * profile.efficiency(Link.Kind.NVLINK))).isBetween(0.97, 1.0);
    }

    /** Two edge-disjoint paths fill all links of four devices that are linked in pairs: 2 x 25 GB/s. */
    @Test
    void twoPathsReachTheBoundOfFourDevices() {
        Network network = Samples.allToAll(4, 25);
        Forest forest = Forest.equalShares(List.of(Tree.ofParents(1, 2, -1, 2), Tree.ofParents(-1, 3, 0, 0)));
        Profile profile = Profiles.find("v100-nvlink").orElseThrow();
        double rate = gbs(network, profile, new ForestAlgorithm("paths", forest), 1 << 20);
        assertThat(byLoads(network, forest)).isEqualTo(50, within(1e-9));
        assertThat(rate / (50 * 0.97)).isBetween(0.97, 1.0);
    }

    /** Chunks keep the busiest link of a forest of eight trees at work nearly all of the time. */
    @ParameterizedTest
    @ValueSource(strings = {"p3.16xlarge", "dgx-1p"})
    void chunksReachWhatTheBusiestLinkAllows(String name) {
        Machine machine = preset(name);
        Network network = Network.of(machine);
        Profile profile = Profiles.of(machine);
        Forest forest = new KernighanLin().generate(LinkMatrix.of(machine), 0, 1, 2, 3, 4, 5, 6, 7);
        double rate = gbs(network, profile, new ForestAlgorithm("multi-tree", forest), 1 << 19);
        double bound = byLoads(network, forest) * profile.efficiency(Link.Kind.NVLINK);
        assertThat(rate / bound).isBetween(0.97, 1.0);
    }
}
