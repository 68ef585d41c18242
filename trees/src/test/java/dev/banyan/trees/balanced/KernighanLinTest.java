package dev.banyan.trees.balanced;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import dev.banyan.trees.internal.render.ForestQuality;
import java.util.Random;
import org.junit.jupiter.api.Test;

class KernighanLinTest extends ForestGeneratorContract {
    @Override
    ForestGenerator createGenerator() {
        return new KernighanLin();
    }

    @Override
    boolean findsEveryBalancedTree() {
        return true;
    }

    @Test
    void p3IsNoWorseThanTheOriginalDesign() {
        ForestQuality quality = ForestQuality.of(checkAllRoots(Machines.p3()), Machines.p3());
        assertThat(quality.totalWeight()).isGreaterThanOrEqualTo(144);
        assertThat(quality.busiestLinkLoad()).isLessThanOrEqualTo(0.12);
        assertThat(quality.levels()).isEqualTo(3);
    }

    @Test
    void anySeedGivesGoodTreesOfP3() {
        double total = 0;
        for (int seed = 0; seed < 50; seed++) {
            Forest forest = new KernighanLin(0.7, seed).generate(Machines.p3(), 0, 1, 2, 3, 4, 5, 6, 7);
            ForestQuality quality = ForestQuality.of(forest, Machines.p3());
            assertThat(quality.totalWeight()).isGreaterThanOrEqualTo(144);
            assertThat(quality.busiestLinkLoad()).isLessThanOrEqualTo(0.14);
            total += quality.totalWeight();
        }
        assertThat(total / 50).isGreaterThan(146);
    }

    @Test
    void isCloseToTheOptimumOnDenseMachines() {
        Random random = new Random(50);
        double own = 0;
        double best = 0;
        for (int i = 0; i < 50; i++) {
            LinkMatrix matrix = Machines.dense(8, random);
            own += ForestQuality.of(checkAllRoots(matrix), matrix).totalWeight();
            best += ForestQuality.of(new Exact().generate(matrix, Machines.allRoots(matrix)), matrix)
                    .totalWeight();
        }
        assertThat(own).isGreaterThan(0.9 * best);
    }

    @Test
    void splitsAreTheBestForTwoCliques() {
        // Two heavy cliques, interleaved, and one light link between each pair of twins.
        LinkMatrix matrix = Machines.where(16, (a, b) -> a % 2 == b % 2 ? 3 : a / 2 == b / 2 ? 2 : 0);
        for (Tree tree : checkAllRoots(matrix).trees()) {
            assertThat(tree.isBalancedBinary()).isTrue();
            assertThat(tree.edges().stream()
                            .filter(edge -> matrix.classOf(edge[0], edge[1]) == 2)
                            .count())
                    .isEqualTo(1);
        }
    }

    @Test
    void largeMachines() {
        Random random = new Random(51);
        for (int n : new int[] {17, 24, 64}) {
            assertThat(check(Machines.complete(n), Machines.allRoots(Machines.complete(n)))
                            .trees())
                    .allMatch(Tree::isBalancedBinary);
            checkAllRoots(Machines.cycle(n));
            checkAllRoots(Machines.star(n));
            checkAllRoots(Machines.islands(n));
            checkAllRoots(Machines.random(n, random));
        }
    }

    @Test
    void loadsTheLinksOfP3EvenlyInAnyOrderOfItsDevices() {
        assertThat(evenOrdersOfP3(1000, 144)).isGreaterThanOrEqualTo(0.99);
    }
}
