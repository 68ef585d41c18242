package dev.banyan.trees.balanced;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ExhaustiveTest extends ForestGeneratorContract {
    @Override
    ForestGenerator createGenerator() {
        return new Exhaustive();
    }

    @Override
    boolean findsEveryBalancedTree() {
        return true;
    }

    @Test
    void equalsBruteForce() {
        Random random = new Random(60);
        for (int i = 0; i < 100; i++) {
            LinkMatrix matrix = Machines.random(2 + random.nextInt(6), random);
            Tree tree = createGenerator().generate(matrix, 0).trees().getFirst();
            double best = AllTrees.bestBalanced(matrix, 0);
            if (best > 0) {
                assertThat(tree.weight(matrix)).isCloseTo(best, within(1e-9));
            }
        }
    }

    @Test
    void givesUpOnLargeMachinesWithoutBalancedTree() {
        Forest forest = check(Machines.star(16), 1);
        assertThat(forest.trees().getFirst().isBalancedBinary()).isFalse();
        check(Machines.random(40, new Random(61)), 0);
    }
}
