package dev.banyan.trees.render;

import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import java.util.Locale;

/**
 * Writes a forest in the DOT language of Graphviz: one cluster per tree, an arrow from each parent to
 * its child, labelled with the weight of the link.
 */
public final class DotForest {
    private DotForest() {}

    /**
     * The forest as a DOT digraph; each line ends with a line feed.
     *
     * @param matrix weights of the links, not penalised
     * @throws IllegalArgumentException if the matrix is not of the forest's size
     */
    public static String of(Forest forest, LinkMatrix matrix) {
        if (matrix.size() != forest.size()) {
            throw new IllegalArgumentException(
                    "the forest spans " + forest.size() + " devices, the matrix " + matrix.size());
        }
        StringBuilder out = new StringBuilder("digraph forest {\n  node [shape=circle];\n");
        for (int t = 0; t < forest.trees().size(); t++) {
            Tree tree = forest.trees().get(t);
            out.append("  subgraph cluster_").append(t).append(" {\n");
            out.append(String.format(
                    Locale.ROOT,
                    "    label=\"tree %d: root %d, share %.4g\";\n",
                    t,
                    tree.root(),
                    forest.shares().get(t)));
            for (int device : tree.topDown()) {
                out.append("    t")
                        .append(t)
                        .append('d')
                        .append(device)
                        .append(" [label=\"")
                        .append(device)
                        .append('"');
                out.append(device == tree.root() ? ", shape=doublecircle];\n" : "];\n");
            }
            for (int[] edge : tree.edges()) {
                out.append(String.format(
                        Locale.ROOT,
                        "    t%dd%d -> t%dd%d [label=\"%.3g\"];\n",
                        t,
                        edge[0],
                        t,
                        edge[1],
                        matrix.weight(edge[0], edge[1])));
            }
            out.append("  }\n");
        }
        return out.append("}\n").toString();
    }
}
