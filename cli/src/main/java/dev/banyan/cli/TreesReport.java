package dev.banyan.cli;

import dev.banyan.cli.output.TerminalText;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestQuality;
import dev.banyan.trees.Tree;
import dev.banyan.trees.render.LevelText;
import dev.banyan.trees.render.TreeDrawing;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What {@code banyan trees} tells, in the order of its JSON. Devices are ranks.
 *
 * @param machine the machine's name
 * @param devices number of devices
 * @param algorithm what built the trees
 * @param generationMs time that building them took, once and cold, in ms
 * @param trees the trees
 * @param busiestLinkLoad trees per GB/s on the busiest link; less is better
 * @param totalWeight sum of the weights of all trees
 * @param warnings what was odd about the machine, one sentence each
 */
record TreesReport(
        String machine,
        int devices,
        String algorithm,
        double generationMs,
        List<TreeReport> trees,
        double busiestLinkLoad,
        double totalWeight,
        List<String> warnings) {
    /**
     * One tree.
     *
     * @param share its share of the data
     * @param levels level arrays, the root alone first
     * @param edges [parent, child]
     * @param weight sum of its links' weights, not penalised
     */
    record TreeReport(int root, double share, List<int[]> levels, List<int[]> edges, double weight) {}

    static TreesReport of(
            Machine machine,
            LinkMatrix links,
            String algorithm,
            double generationMs,
            Forest forest,
            List<String> warnings) {
        List<TreeReport> trees = new ArrayList<>();
        for (int i = 0; i < forest.trees().size(); i++) {
            Tree tree = forest.trees().get(i);
            trees.add(new TreeReport(
                    tree.root(), forest.shares().get(i), List.of(tree.levels()), tree.edges(), tree.weight(links)));
        }
        ForestQuality quality = ForestQuality.of(forest, links);
        return new TreesReport(
                machine.name(),
                machine.size(),
                algorithm,
                generationMs,
                trees,
                quality.busiestLinkLoad(),
                quality.totalWeight(),
                warnings);
    }

    void printTable(PrintWriter out, Forest forest) {
        out.println(String.format(
                Locale.ROOT,
                "# %s: %d devices, %s, %d %s in %.2f ms",
                TerminalText.of(machine), devices, algorithm, trees.size(), trees.size() == 1 ? "tree" : "trees", generationMs));
        for (int i = 0; i < trees.size(); i++) {
            TreeReport tree = trees.get(i);
            out.println("#");
            out.println(String.format(
                    Locale.ROOT, "# root %d, share %.3f, weight %s", tree.root, tree.share, number(tree.weight)));
            out.println(LevelText.of(forest.trees().get(i)));
            out.println(TreeDrawing.of(forest.trees().get(i)).stripTrailing());
        }
        out.println("#");
        out.println("# total weight: " + number(totalWeight));
        out.println(String.format(Locale.ROOT, "# trees per GB/s on the busiest link: %.3f", busiestLinkLoad));
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.3f", value).replaceFirst("\\.?0+$", "");
    }
}
