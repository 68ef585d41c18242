package dev.banyan.trees.internal.render;

import dev.banyan.trees.Tree;
import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Writes a tree's level arrays in one line, e.g. {@code [3] [3 1] [3 0 1 5] [3 3 0 4 1 2 5 6]}. */
public final class LevelText {
    private LevelText() {}

    /** The rows of {@link Tree#levels()}, separated by spaces, as are their entries. */
    public static String of(Tree tree) {
        return Arrays.stream(tree.levels())
                .map(row -> IntStream.of(row).mapToObj(Integer::toString).collect(Collectors.joining(" ", "[", "]")))
                .collect(Collectors.joining(" "));
    }
}
