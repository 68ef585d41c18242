package dev.banyan.trees.balanced;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.render.ForestQuality;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ExactTest extends ForestGeneratorContract {
    @Override
    ForestGenerator createGenerator() {
        return new Exact();
    }

    @Override
    boolean findsEveryBalancedTree() {
        return true;
    }

    @Test
    void equalsBruteForce() {
        Random random = new Random(40);
        for (int i = 0; i < 60; i++) {
            LinkMatrix matrix = Machines.random(2 + random.nextInt(6), random);
            for (int root = 0; root < matrix.size(); root++) {
                Tree tree = createGenerator().generate(matrix, root).trees().getFirst();
                double best = AllTrees.bestBalanced(matrix, root);
                assertThat(tree.isBalancedBinary()).isEqualTo(best > 0);
                if (best > 0) {
                    assertThat(tree.weight(matrix)).isCloseTo(best, within(1e-9));
                }
            }
        }
    }

    @Test
    void equalsBacktrackingForEightDevices() {
        Random random = new Random(41);
        for (int i = 0; i < 10; i++) {
            LinkMatrix matrix = Machines.random(8, random);
            Tree exact = createGenerator().generate(matrix, 0).trees().getFirst();
            Tree searched = new Exhaustive().generate(matrix, 0).trees().getFirst();
            assertThat(exact.isBalancedBinary()).isEqualTo(searched.isBalancedBinary());
            assertThat(exact.weight(matrix)).isCloseTo(searched.weight(matrix), within(1e-9));
        }
    }

    @Test
    void everyRootOfP3WeighsTwentyWithoutPenalty() {
        Forest forest = new Exact(1).generate(Machines.p3(), 0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(forest.trees()).allMatch(tree -> tree.weight(Machines.p3()) == 20);
    }

    @Test
    void loadsTheLinksOfP3Evenly() {
        ForestQuality quality = ForestQuality.of(checkAllRoots(Machines.p3()), Machines.p3());
        assertThat(quality.busiestLinkLoad()).isLessThanOrEqualTo(0.12);
        assertThat(quality.totalWeight()).isGreaterThanOrEqualTo(145);
        assertThat(quality.levels()).isEqualTo(3);
    }

    @Test
    void findsBalancedTreesOfSixteenDenselyLinkedDevices() {
        Forest forest = checkAllRoots(Machines.dense(16, new Random(42)));
        assertThat(forest.trees()).allMatch(Tree::isBalancedBinary);
    }

    /** Checks the cost that the class states: the work of a tree depends on the number of devices alone. */
    @Test
    void aTreeTakesNoMoreAdditionsThanStated() {
        assertThat(additions(8)).isLessThan(10_000);
        assertThat(additions(16)).isLessThan(100_000_000);
    }

    /** For every level, subset and split of it: one addition for each device of the part that keeps the root. */
    private static long additions(int devices) {
        SubsetPlan plan = SubsetPlan.of(devices);
        long additions = 0;
        for (int level = 1; level < plan.levels(); level++) {
            for (int set : plan.sets(level)) {
                for (int split : plan.splits(level, Integer.bitCount(set))) {
                    additions += Integer.bitCount(split);
                }
            }
        }
        return additions;
    }

    @Test
    void randomMachinesOfUpToSixteen() {
        Random random = new Random(43);
        for (int i = 0; i < 4; i++) {
            check(Machines.random(11 + random.nextInt(6), random), 0);
        }
    }

    @Test
    void refusesMoreThanSixteenDevices() {
        assertThatThrownBy(() -> createGenerator().generate(Machines.complete(17), 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("at most 16 devices, not 17")
                .hasMessageContaining("kernighan-lin");
    }

    @Test
    void refusesBadPenalties() {
        for (double penalty : new double[] {0, -1, 1.01, Double.NaN}) {
            assertThatThrownBy(() -> new Exact(penalty))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("penalty");
        }
    }

    @Test
    void aSmallPenaltyLosesNoLink() {
        Forest forest = new Exact(1e-6).generate(Machines.p3(), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        assertThat(forest.trees()).allMatch(Tree::isBalancedBinary);
    }

    @Test
    void loadsTheLinksOfP3EvenlyInAnyOrderOfItsDevices() {
        assertThat(evenOrdersOfP3(200, 145)).isGreaterThanOrEqualTo(0.99);
    }
}
