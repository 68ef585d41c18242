package dev.banyan.trees.render;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.Forest;
import dev.banyan.trees.Machines;
import dev.banyan.trees.Tree;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class RenderTest {
    private static final Tree SEVEN = Tree.ofParents(3, 3, 1, -1, 0, 1, 5);

    @Test
    void writesLevels() {
        assertThat(LevelText.of(SEVEN)).isEqualTo("[3] [3 1] [3 0 1 5] [3 3 0 4 1 2 5 6]");
        assertThat(LevelText.of(Tree.ofParents(-1))).isEqualTo("[0]");
    }

    @Test
    void drawsATree() {
        assertThat(TreeDrawing.of(SEVEN)).isEqualTo("""
            3
            |-- 1
            |   |-- 5
            |   |   `-- 6
            |   `-- 2
            `-- 0
                `-- 4
            """);
    }

    @Test
    void drawsALongPathWithoutOverflow() {
        int[] parents = new int[3000];
        Arrays.setAll(parents, v -> v - 1);
        assertThat(TreeDrawing.of(Tree.ofParents(parents)).lines()).hasSize(3000);
    }

    @Test
    void exportsDot() {
        String dot = DotForest.of(Forest.equalShares(List.of(Tree.ofParents(-1, 0, 1))), Machines.p3Subset(0, 3, 7));
        assertThat(dot).isEqualTo("""
            digraph forest {
              node [shape=circle];
              subgraph cluster_0 {
                label="tree 0: root 0, share 1.000";
                t0d0 [label="0", shape=doublecircle];
                t0d1 [label="1"];
                t0d2 [label="2"];
                t0d0 -> t0d1 [label="3.00"];
                t0d1 -> t0d2 [label="2.00"];
              }
            }
            """);
    }
}
