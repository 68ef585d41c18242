package dev.banyan.trees.balanced;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.render.ForestQuality;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The contract of every generator of one tree per root. */
abstract class ForestGeneratorContract {
    abstract ForestGenerator createGenerator();

    /** Returns whether every tree must have ceil(log2 n) levels where such a tree exists. */
    abstract boolean findsEveryBalancedTree();

    final Forest check(LinkMatrix matrix, int... roots) {
        Forest forest = createGenerator().generate(matrix, roots);
        assertThat(forest.trees()).hasSize(roots.length);
        assertThat(forest.shares()).allMatch(share -> Math.abs(share - 1.0 / roots.length) < 1e-12);
        for (int t = 0; t < roots.length; t++) {
            Tree tree = forest.trees().get(t);
            assertThat(tree.root()).isEqualTo(roots[t]);
            assertThat(tree.size()).isEqualTo(matrix.size());
            for (int[] edge : tree.edges()) {
                assertThat(matrix.weight(edge[0], edge[1])).isPositive();
            }
            if (findsEveryBalancedTree() && matrix.size() <= 7) {
                assertThat(tree.isBalancedBinary()).isEqualTo(AllTrees.bestBalanced(matrix, roots[t]) >= 0);
            }
        }
        return forest;
    }

    final Forest checkAllRoots(LinkMatrix matrix) {
        return check(matrix, Machines.allRoots(matrix));
    }

    /** All roots of a small machine, and two of a large one, on which a tree takes long. */
    private Forest checkSomeRoots(LinkMatrix matrix) {
        return matrix.size() <= 9 ? checkAllRoots(matrix) : check(matrix, 0, matrix.size() - 1);
    }

    @Test
    void p3() {
        checkAllRoots(Machines.p3());
    }

    /**
     * Checks the forests of p3.16xlarge with its devices in random orders.
     *
     * @return the share of orders in which no link bears more than 0.12 trees per GB/s
     */
    final double evenOrdersOfP3(int orders, double leastWeight) {
        List<Integer> devices = new ArrayList<>(IntStream.range(0, 8).boxed().toList());
        Random random = new Random(10);
        int even = 0;
        for (int i = 0; i < orders; i++) {
            Collections.shuffle(devices, random);
            LinkMatrix matrix = Machines.p3Subset(
                    devices.stream().mapToInt(Integer::intValue).toArray());
            ForestQuality quality =
                    ForestQuality.of(createGenerator().generate(matrix, Machines.allRoots(matrix)), matrix);
            assertThat(quality.totalWeight()).isGreaterThanOrEqualTo(leastWeight);
            assertThat(quality.busiestLinkLoad()).isLessThanOrEqualTo(0.16);
            even += quality.busiestLinkLoad() <= 0.12 ? 1 : 0;
        }
        return (double) even / orders;
    }

    @Test
    void aCycleOfEightSingleLinks() {
        Forest forest = checkAllRoots(Machines.matrix(Machines.classes(Machines.EIGHT_CYCLE)));
        // No tree of a cycle reaches eight devices in three levels.
        assertThat(forest.trees()).noneMatch(Tree::isBalancedBinary);
    }

    @Test
    void aMachineWhoseDoubleLinksWereReadAsPcie() {
        // The reader's classes with peer access: one NVLink wherever there is one.
        int[][] classes = Machines.classes(Machines.P3_16XLARGE);
        checkAllRoots(Machines.where(8, (a, b) -> Math.min(2, classes[a][b])));
        // And without.
        checkAllRoots(Machines.where(8, (a, b) -> classes[a][b] == 2 ? 2 : 1));
    }

    @Test
    void everySubsetOfP3FromEveryRoot() {
        for (int mask = 1; mask < 256; mask++) {
            LinkMatrix matrix = Machines.p3Subset(Machines.devices(mask));
            checkAllRoots(matrix);
            for (int root = 0; root < matrix.size(); root++) {
                check(matrix, root);
            }
        }
    }

    @Test
    void plainShapesOfAllSizes() {
        for (int n = 1; n <= 16; n++) {
            for (LinkMatrix matrix : List.of(
                    Machines.path(n), Machines.star(n), Machines.cycle(n), Machines.complete(n), Machines.islands(n))) {
                checkSomeRoots(matrix);
            }
        }
    }

    @Test
    void completeMachinesHaveBalancedTrees() {
        for (int n = 2; n <= 16; n++) {
            Forest forest = checkSomeRoots(Machines.complete(n));
            if (findsEveryBalancedTree()) {
                assertThat(forest.trees()).allMatch(Tree::isBalancedBinary);
            }
        }
    }

    @Test
    void randomMachines() {
        Random random = new Random(20);
        for (int i = 0; i < 100; i++) {
            LinkMatrix matrix = Machines.random(2 + random.nextInt(9), random);
            checkAllRoots(matrix);
        }
    }

    @Test
    void manyTreesFromOneRoot() {
        check(Machines.p3(), IntStream.range(0, 200).map(i -> 3).toArray());
    }

    @Test
    void sameInputSameForest() {
        Random random = new Random(30);
        for (int i = 0; i < 20; i++) {
            LinkMatrix matrix = Machines.random(8, random);
            ForestGenerator generator = createGenerator();
            Forest forest = generator.generate(matrix, Machines.allRoots(matrix));
            assertThat(generator.generate(matrix, Machines.allRoots(matrix))).isEqualTo(forest);
            assertThat(createGenerator().generate(matrix, Machines.allRoots(matrix)))
                    .isEqualTo(forest);
        }
    }

    @Test
    void bandwidthsMayBeMissing() {
        LinkMatrix matrix = new LinkMatrix(Machines.classes(Machines.P3_16XLARGE), new double[8][8]);
        checkAllRoots(matrix);
    }

    @Test
    void refusesMachinesThatAreNotConnected() {
        LinkMatrix matrix = Machines.where(5, (a, b) -> a < 3 == b < 3 ? 2 : 0);
        assertThatThrownBy(() -> createGenerator().generate(matrix, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0 and 3");
    }

    @Test
    void refusesBadRoots() {
        assertThatThrownBy(() -> createGenerator().generate(Machines.p3(), 0, 8))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("root 8");
        assertThatThrownBy(() -> createGenerator().generate(Machines.p3()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no root");
        assertThatThrownBy(() -> createGenerator().generate(Machines.where(0, (a, b) -> 0), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no device");
    }
}
