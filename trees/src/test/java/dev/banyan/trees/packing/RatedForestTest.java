package dev.banyan.trees.packing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Networks;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.Certificate;
import dev.banyan.trees.internal.render.ForestQuality;
import dev.banyan.trees.network.Network;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

class RatedForestTest {
    private static final Bound SOME_BOUND =
            new Bound(BigFraction.of(1000), new Certificate.Partition(List.of(List.of(0), List.of(1, 2))));

    private static Optional<TreePacking> rated(Forest forest, Machine machine) {
        return RatedForest.of(PackedTree.of(forest), Network.of(machine), SOME_BOUND);
    }

    @Test
    void sharesSetTheRate() {
        Machine path = Networks.direct(3, new int[] {0, 1, 30}, new int[] {1, 2, 20});
        Forest one = Forest.equalShares(List.of(Tree.ofParents(1, -1, 1)));
        assertThat(rated(one, path).orElseThrow().rateGbs()).isEqualTo(BigFraction.of(20));
        Machine triangle = Networks.direct(3, new int[] {0, 1, 30}, new int[] {1, 2, 20}, new int[] {0, 2, 10});
        Forest two = new Forest(List.of(Tree.ofParents(-1, 0, 1), Tree.ofParents(-1, 0, 0)), List.of(0.75, 0.25));
        // 0-1 carries all, 1-2 three quarters, 0-2 a quarter.
        TreePacking packing = rated(two, triangle).orElseThrow();
        assertThat(packing.trees().getFirst().share()).isEqualTo(BigFraction.of(3, 4));
        assertThat(packing.rateGbs()).isEqualTo(BigFraction.of(80, 3));
        assertThat(packing.links()).isEmpty();
    }

    @Test
    void withoutAPathThereIsNoRate() {
        Machine path = Networks.direct(3, new int[] {0, 1, 30}, new int[] {1, 2, 20});
        Forest star = Forest.equalShares(List.of(Tree.ofParents(-1, 0, 0)));
        assertThat(rated(star, path)).isEmpty();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> rated(star, Networks.preset("dgx-1p")))
                .withMessageContaining("3 devices");
    }

    @Test
    void namesTheWaysThroughHubs() {
        Forest star = Forest.equalShares(List.of(Tree.ofParents(-1, 0, 0, 0)));
        TreePacking packing = rated(star, Networks.preset("pcie-4")).orElseThrow();
        assertThat(packing.links())
                .hasSize(6)
                .isSortedAccordingTo((a, b) -> 4 * (a.from() - b.from()) + a.to() - b.to());
        assertThat(packing.links()).allSatisfy(link -> {
            assertThat(link.from() == 0 || link.to() == 0).isTrue();
            List<Integer> nodes = link.paths().getFirst().nodes();
            assertThat(nodes).startsWith(link.from()).endsWith(link.to()).hasSizeGreaterThan(2);
            assertThat(nodes.subList(1, nodes.size() - 1)).allMatch(node -> node >= 4);
        });
    }

    /** Equal shares give trees over busiest load if only direct links are used. */
    @Test
    void agreesWithTheBusiestLink() {
        Random random = new Random(3);
        for (int i = 0; i < 60; i++) {
            Machine machine = Networks.random(random, 3 + random.nextInt(6), 6);
            LinkMatrix links = LinkMatrix.of(machine);
            int[] roots = IntStream.range(0, links.size()).toArray();
            Forest forest = new KernighanLin().generate(links, roots);
            double rate = rated(forest, machine).orElseThrow().rateGbs().doubleValue();
            double expected =
                    forest.trees().size() / ForestQuality.of(forest, links).busiestLinkLoad();
            assertThat(rate).isCloseTo(expected, Offset.offset(1e-9 * expected));
        }
    }
}
