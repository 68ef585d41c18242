package dev.banyan.trees.internal.render;

import dev.banyan.trees.Tree;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Draws a tree with plain ASCII characters, one device per line, its children below it in the order of
 * meeting:
 * <pre>
 *   0
 *   |-- 4
 *   |   `-- 5
 *   `-- 3
 * </pre>
 */
public final class TreeDrawing {
    private TreeDrawing() {}

    /** The drawing with the devices' numbers; each line ends with a line feed. */
    public static String of(Tree tree) {
        StringBuilder out = new StringBuilder();
        Deque<Line> open = new ArrayDeque<>();
        open.push(new Line(tree.root(), "", ""));
        while (!open.isEmpty()) {
            Line line = open.pop();
            out.append(line.head).append(line.device).append('\n');
            int[] children = tree.children(line.device);
            for (int i = children.length - 1; i >= 0; i--) {
                boolean last = i == children.length - 1;
                open.push(new Line(
                        children[i], line.below + (last ? "`-- " : "|-- "), line.below + (last ? "    " : "|   ")));
            }
        }
        return out.toString();
    }

    private record Line(int device, String head, String below) {}
}
