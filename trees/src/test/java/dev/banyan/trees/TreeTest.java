package dev.banyan.trees;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TreeTest {
    private static final int[][] SEVEN = {{3}, {3, 1}, {3, 0, 1, 5}, {3, 3, 0, 4, 1, 2, 5, 6}};

    @Test
    void writesTheLevelsOfABalancedBinaryTree() {
        Tree tree = Tree.ofParents(3, 3, 1, -1, 0, 1, 5);
        assertThat(tree.levels()).isDeepEqualTo(SEVEN);
        assertThat(tree.isBalancedBinary()).isTrue();
        assertThat(tree.levelCount()).isEqualTo(3);
        assertThat(tree.depth()).isEqualTo(3);
        assertThat(tree.children(1)).containsExactly(5, 2);
    }

    @Test
    void listsEachDeviceOnceWhereATreeIsNotBalanced() {
        assertThat(Tree.ofParents(-1, 0, 0, 0, 0).levels())
                .isDeepEqualTo(new int[][] {{0}, {0, 1}, {0, 2, 1}, {0, 3, 2, 1}, {0, 4, 3, 2, 1}});
        assertThat(Tree.ofParents(-1, 0, 1, 2).levels())
                .isDeepEqualTo(new int[][] {{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}});
    }

    @Test
    void meetsTheDeepestChildFirst() {
        Tree tree = Tree.ofParents(-1, 0, 0, 2, 3);
        assertThat(tree.children(0)).containsExactly(2, 1);
        assertThat(tree.levels()).isDeepEqualTo(new int[][] {{0}, {0, 2}, {0, 1, 2, 3}, {0, 0, 1, 1, 2, 2, 3, 4}});
    }

    @Test
    void oneDeviceIsATree() {
        Tree tree = Tree.ofParents(-1);
        assertThat(tree.levels()).isDeepEqualTo(new int[][] {{0}});
        assertThat(tree.isBalancedBinary()).isTrue();
    }

    @Test
    void refusesWhatIsNoTree() {
        assertThatThrownBy(() -> Tree.ofParents(1, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("no root");
        assertThatThrownBy(() -> Tree.ofParents(-1, 2, 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("root 0");
        assertThatThrownBy(() -> Tree.ofParents(-1, 5))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("device 1");
        assertThatThrownBy(() -> Tree.ofParents(-1, -1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(Tree::ofParents).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void anyTreeFollowsFromItsLevelsAndSurvivesRerooting() {
        Random random = new Random(1);
        for (int i = 0; i < 2000; i++) {
            Tree tree = randomTree(1 + random.nextInt(20), random);
            checkMeetings(tree);
            Tree turned = tree.rerooted(random.nextInt(tree.size()));
            assertThat(links(turned)).isEqualTo(links(tree));
            assertThat(turned.rerooted(tree.root())).isEqualTo(tree);
            checkLevels(turned);
        }
    }

    /** A device that is new in a row stands behind its parent, which meets its children in their order. */
    private static void checkMeetings(Tree tree) {
        int[] met = new int[tree.size()];
        Set<Integer> reached = new HashSet<>(Set.of(tree.root()));
        for (int[] row : tree.levels()) {
            for (int i = 0; i < row.length; i++) {
                if (reached.add(row[i])) {
                    assertThat(tree.parent(row[i])).isEqualTo(row[i - 1]);
                    assertThat(tree.children(row[i - 1])[met[row[i - 1]]++]).isEqualTo(row[i]);
                }
            }
        }
        assertThat(reached).hasSize(tree.size());
    }

    private static Tree randomTree(int n, Random random) {
        int[] label = new int[n];
        Arrays.setAll(label, v -> v);
        for (int v = n - 1; v > 0; v--) {
            int other = random.nextInt(v + 1);
            int device = label[v];
            label[v] = label[other];
            label[other] = device;
        }
        int[] parents = new int[n];
        for (int v = 0; v < n; v++) {
            parents[label[v]] = v == 0 ? -1 : label[random.nextInt(v)];
        }
        return Tree.ofParents(parents);
    }

    private static Set<Set<Integer>> links(Tree tree) {
        Set<Set<Integer>> links = new HashSet<>();
        tree.edges().forEach(edge -> links.add(Set.of(edge[0], edge[1])));
        return links;
    }

    /** Each device meets one child per level, from the level after its own. */
    private static void checkLevels(Tree tree) {
        int[][] levels = tree.levels();
        int least = 32 - Integer.numberOfLeadingZeros(tree.size() - 1);
        assertThat(tree.levelCount()).isGreaterThanOrEqualTo(Math.max(least, tree.depth()));
        for (int k = 0; k < levels.length; k++) {
            long distinct = Arrays.stream(levels[k]).distinct().count();
            assertThat(levels[k].length).isEqualTo(tree.isBalancedBinary() ? 1 << k : (int) distinct);
        }
        assertThat(Arrays.stream(levels[levels.length - 1]).distinct().count()).isEqualTo(tree.size());
    }

    @Test
    void levelsAreTheFewestThatTheLinksAllow() {
        Random random = new Random(2);
        for (int i = 0; i < 300; i++) {
            Tree tree = randomTree(2 + random.nextInt(7), random);
            assertThat(tree.levelCount()).isEqualTo(fewestLevels(tree, tree.root()));
        }
    }

    /** Over all orders of the children. */
    private static int fewestLevels(Tree tree, int device) {
        int[] below = Arrays.stream(tree.children(device))
                .map(child -> fewestLevels(tree, child))
                .toArray();
        return permute(below, 0);
    }

    private static int permute(int[] below, int at) {
        if (at == below.length) {
            int longest = 0;
            for (int i = 0; i < below.length; i++) {
                longest = Math.max(longest, i + 1 + below[i]);
            }
            return longest;
        }
        int best = Integer.MAX_VALUE;
        for (int i = at; i < below.length; i++) {
            swap(below, at, i);
            best = Math.min(best, permute(below, at + 1));
            swap(below, at, i);
        }
        return best;
    }

    private static void swap(int[] array, int i, int j) {
        int value = array[i];
        array[i] = array[j];
        array[j] = value;
    }
}
