package dev.banyan.cli.trees;

import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.study.machine.PlannedTrees;
import dev.banyan.study.machine.TreesReport;
import dev.banyan.study.machine.TreesReport.PathReport;
import dev.banyan.study.machine.TreesReport.Route;
import dev.banyan.study.machine.TreesReport.TreeReport;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.Forest;
import dev.banyan.trees.internal.render.LevelText;
import dev.banyan.trees.internal.render.TreeDrawing;
import dev.banyan.trees.packing.PackedTree;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Prints trees for people. */
record TreesTable(TreesReport report, PlannedTrees plan) {
    /** Pairs of one way through forwarders that are named one by one. */
    private static final int FEW_PAIRS = 12;

    void printTable(PrintWriter out) {
        String carried = plan.packed() ? " for " + report.collective() : "";
        out.println(Numbers.format(
                "# %s: %d devices, %s%s, %s in %.2f ms, as the first of its process",
                TerminalText.of(report.machine()),
                report.devices(),
                report.algorithm(),
                carried,
                Numbers.count(report.trees().size(), isRing() ? "chain" : "tree"),
                report.generationMs()));
        if (!plan.names().isEmpty()) {
            out.println("# ranks: " + TerminalText.of(plan.names()));
        }
        Assumptions.line(report.assumed()).ifPresent(line -> out.println("# " + line));
        if (plan.packed()) {
            printRate(out);
        }
        Forest forest = plan.forest();
        if (!plan.packed()) {
            out.println("# share: part of the data; weight: sum of the classes of the links (two NVLinks or more 3, one"
                    + " 2)");
            out.println("# [0] [0 4] [...]: levels as MXNet lists them; below each entry stand the same device and its"
                    + " child");
        }
        for (int i = 0; i < report.trees().size(); i++) {
            TreeReport tree = report.trees().get(i);
            PackedTree packed = plan.packing().trees().get(i);
            out.println("#");
            if (plan.packed()) {
                String share = tree.share() == 1 ? "1" : Numbers.format("%s = %.3f", tree.exactShare(), tree.share());
                out.println(
                        "# root " + tree.root() + ", share " + share + ", " + Numbers.gbs(plan.gbs(packed.share())));
            } else {
                // Level arrays are for trees that are binary; weights for those that were built by weight.
                out.println(Numbers.format(
                        "# root %d, share %.3f, weight %s", tree.root(), tree.share(), Numbers.plain(tree.weight())));
                out.println(LevelText.of(forest.trees().get(i)));
            }
            out.println(TreeDrawing.of(forest.trees().get(i)).stripTrailing());
            if (plan.goesUp() && plan.goesDown() && tree.upEdges() != null) {
                out.println("# for the way up (the tree above is for the way down):");
                out.println(TreeDrawing.of(packed.up()).stripTrailing());
            }
        }
        out.println("#");
        if (plan.packed()) {
            printPaths(out);
        } else {
            out.println("# total weight: " + Numbers.plain(report.totalWeight()));
            printRate(out);
        }
    }

    /** Returns whether the trees are chains, one for each ring and rank. */
    private boolean isRing() {
        return report.algorithm().split("/", 2)[0].equals(AlgorithmChoice.RING.label());
    }

    private void printRate(PrintWriter out) {
        String what = report.counted().isEmpty() ? "" : " (" + report.counted() + ")";
        out.println("# rate: " + Numbers.gbs(report.rateGBs()) + " of at most " + Numbers.gbs(report.boundGBs()) + what
                + Numbers.format(", ratio %.3f, depth %d", report.ratio(), report.depth()));
        out.println(
                "# bound" + what + ": " + TerminalText.of(report.certificate().sentence()));
        report.beyond().forEach(limit -> out.println("# " + limit.sentence()));
        if (report.hint() != null) {
            out.println("# hint: " + TerminalText.of(report.hint()));
        }
        if (report.relays() != null) {
            out.println("# relays "
                    + report.relays().devices().stream().map(Object::toString).collect(Collectors.joining(","))
                    + ": " + Numbers.gbs(report.relays().rateWithGBs()) + " with them, "
                    + Numbers.gbs(report.relays().rateWithoutGBs())
                    + " without; shown: " + (report.relays().used() ? "with" : "without"));
        }
    }

    /** Prints the transfers through forwarders, by path. */
    private void printPaths(PrintWriter out) {
        Map<String, List<String>> pairs = new TreeMap<>();
        for (PathReport path : report.paths()) {
            for (Route route : path.ways()) {
                List<String> through = route.names().subList(1, route.names().size() - 1);
                String share = path.ways().size() == 1 ? "" : " (" + route.exactShare() + ")";
                pairs.computeIfAbsent(
                                through.isEmpty() ? "over the direct link" : "through " + String.join(", ", through),
                                key -> new ArrayList<>())
                        .add(path.from() + ">" + path.to() + share);
            }
        }
        out.println(
                pairs.isEmpty()
                        ? "# all over direct links"
                        : "# pairs, as from>to, whose data do not use a direct link alone (with the share of each way,"
                                + " where there are several):");
        pairs.forEach((way, some) -> out.println("#   " + TerminalText.of(way) + ": "
                + (some.size() > FEW_PAIRS ? some.size() + " pairs" : String.join(" ", some))));
    }
}
