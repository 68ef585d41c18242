package dev.banyan.cli.compare;

import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.study.compare.SubsetRow;
import dev.banyan.study.compare.SubsetSummary;
import dev.banyan.study.compare.SubsetSummary.Spread;
import dev.banyan.study.compare.Subsets;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;

/**
 * Prints sets of devices for people.
 *
 * @param listed whether every set has a line
 */
public record SubsetsTable(Subsets report, boolean listed) {
    /** Prints the summary by size, or every set of the one size. */
    public void print(PrintWriter out, TableFormat format) {
        TextTable table = listed ? sets() : summary();
        int sets = report.subsets().size();
        boolean all = sets == report.tried();
        String title = TerminalText.of(report.machine()) + ": " + (all ? "all " + sets : sets + " of " + report.tried())
                + " sets of "
                + (listed && sets > 0 ? report.subsets().getFirst().devices().size() + " of " : "")
                + "the " + report.devices().size() + " devices"
                + (all ? "" : ", those that " + report.direct() + " joins") + ", ratios to the bound"
                + (listed ? "" : " as mean (min)");
        if (format == TableFormat.markdown) {
            out.println(title);
            out.println();
            table.markdown().forEach(out::println);
        } else {
            out.println("# " + title);
            out.println("# rate, trees, depth" + (listed ? "" : " and time")
                    + " are those of the packing; multi-tree, ring and star as in 'banyan compare'");
            out.println("#");
            table.lines().forEach(out::println);
        }
    }

    private TextTable summary() {
        List<String> columns = new ArrayList<>(List.of(
                "size",
                "subsets",
                report.direct() + "\nring",
                "min rate\n(GB/s)",
                "mean\n(GB/s)",
                "max\n(GB/s)",
                "packing",
                "multi-tree\n(kernighan-lin)",
                "ring",
                "ring\nover " + report.direct(),
                "star",
                "trees\n(most)",
                "depth\n(most)",
                "planning\n(ms)"));
        boolean relays = report.total().relayGain() != null;
        if (relays) {
            columns.addAll(List.of("relays gain\nmean (max)", "faster\nwith"));
        }
        TextTable table = new TextTable(columns);
        for (SubsetSummary summary : report.sizes()) {
            table.row(cells(summary, String.valueOf(summary.size())));
        }
        table.row(cells(report.total(), "all"));
        return table;
    }

    private static List<String> cells(SubsetSummary summary, String name) {
        Spread overNvlink = summary.ringsOverNvlink();
        List<String> cells = new ArrayList<>(List.of(
                name,
                String.valueOf(summary.subsets()),
                String.valueOf(summary.nvlinkRings()),
                decimals(summary.rateGBs().min()),
                decimals(summary.rateGBs().mean()),
                decimals(summary.rateGBs().max()),
                meanAndMin(summary.packing()),
                meanAndMin(summary.kernighanLin()),
                meanAndMin(summary.rings()),
                overNvlink == null ? "-" : meanAndMin(overNvlink),
                meanAndMin(summary.star()),
                String.valueOf(summary.mostTrees()),
                String.valueOf(summary.greatestDepth()),
                Numbers.format("%.2f", summary.meanGenerationMs())));
        Spread gain = summary.relayGain();
        if (gain != null) {
            cells.add(Numbers.format("%.2f (%.2f)", gain.mean(), gain.max()));
            cells.add(String.valueOf(summary.fasterWithRelays()));
        }
        return cells;
    }

    private TextTable sets() {
        List<String> columns = new ArrayList<>(List.of(
                "devices", "rate\n(GB/s)", "packing", "multi-tree\n(kernighan-lin)", "ring", "star", "trees", "depth"));
        boolean relays = report.total().relayGain() != null;
        if (relays) {
            columns.addAll(List.of("with relays\n(GB/s)", "gain"));
        }
        TextTable table = new TextTable(columns);
        for (SubsetRow row : report.subsets()) {
            List<String> cells = new ArrayList<>(List.of(
                    row.name(),
                    decimals(row.rateGBs()),
                    decimals(row.packing()),
                    decimals(row.kernighanLin()),
                    decimals(row.rings()),
                    decimals(row.star()),
                    String.valueOf(row.trees()),
                    String.valueOf(row.depth())));
            Double withRelays = row.rateWithRelaysGBs();
            if (withRelays != null) {
                cells.add(decimals(withRelays));
                cells.add(Numbers.format("%.2f", row.gain()));
            }
            table.row(cells);
        }
        return table;
    }

    private static String meanAndMin(Spread ratio) {
        return decimals(ratio.mean()) + " (" + decimals(ratio.min()) + ")";
    }

    private static String decimals(double value) {
        return Numbers.format("%.3f", value);
    }
}
