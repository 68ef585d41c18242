package dev.banyan.trees.balanced;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ShallowTest extends ForestGeneratorContract {
    @Override
    ForestGenerator createGenerator() {
        return new Shallow();
    }

    @Override
    boolean findsEveryBalancedTree() {
        return false;
    }

    @Test
    void everyDeviceIsAsNearAsTheLinksAllowOnItsHeaviestLink() {
        Random random = new Random(70);
        for (int i = 0; i < 200; i++) {
            LinkMatrix matrix = Machines.random(2 + random.nextInt(12), random);
            int n = matrix.size();
            Tree tree = createGenerator().generate(matrix, 0).trees().getFirst();
            int[] depths = new int[n];
            for (int[] edge : tree.edges()) {
                depths[edge[1]] = depths[edge[0]] + 1;
            }
            for (int a = 0; a < n; a++) {
                for (int b = 0; b < n; b++) {
                    if (matrix.weight(a, b) > 0) {
                        assertThat(depths[b]).isLessThanOrEqualTo(depths[a] + 1);
                        if (depths[b] == depths[a] + 1) {
                            assertThat(matrix.weight(tree.parent(b), b)).isGreaterThanOrEqualTo(matrix.weight(a, b));
                        }
                    }
                }
            }
        }
    }

    @Test
    void parentsShareTheirChildren() {
        // Two devices in the middle layer, four below that hang on either.
        LinkMatrix matrix = Machines.where(7, (a, b) -> (a == 0 && b <= 2) || (a >= 1 && a <= 2 && b >= 3) ? 2 : 0);
        Tree tree = createGenerator().generate(matrix, 0).trees().getFirst();
        assertThat(tree.children(1)).hasSize(2);
        assertThat(tree.children(2)).hasSize(2);
    }
}
