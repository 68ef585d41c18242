package dev.banyan.trees.internal.render;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.trees.Tree;
import java.util.Arrays;
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
}
