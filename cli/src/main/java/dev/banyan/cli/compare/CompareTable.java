package dev.banyan.cli.compare;

import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.compare.Comparison;
import dev.banyan.study.compare.Comparison.Row;
import dev.banyan.study.compare.ImportedSchedule;
import dev.banyan.study.machine.SwitchRate;
import dev.banyan.study.text.MarkdownText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import dev.banyan.study.workload.PredictedExecution;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Prints a comparison for people.
 *
 * @param predicted what executes predicted calls
 * @param remark on predictions for these GPUs
 */
record CompareTable(Comparison comparison, PredictedExecution predicted, Optional<String> remark) {
    void print(PrintWriter out, TableFormat format) {
        TextTable table = new TextTable(
                "allreduce",
                "algbw\n(GB/s)",
                "ratio\nto bound",
                "predicted at\n1 GiB (GB/s)",
                "depth",
                "trees\n(rings)",
                "planning\n(ms)");
        for (Row row : comparison.rows()) {
            if (row.refusal() != null) {
                table.remark(row.name(), "- " + row.refusal());
            } else {
                table.row(
                        TerminalText.of(row.name()),
                        Numbers.format("%.3f", row.rateGBs()),
                        row.ratio() == null ? "-" : Numbers.format("%.3f", row.ratio()),
                        row.predictedGBs() == null ? "-" : Numbers.format("%.3f", row.predictedGBs()),
                        row.depth() == null ? "-" : String.valueOf(row.depth()),
                        row.trees() == null ? "-" : String.valueOf(row.trees()),
                        row.generationMs() == null ? "-" : Numbers.format("%.2f", row.generationMs()));
            }
        }
        List<String> notes = notes();
        if (format == TableFormat.markdown) {
            header().forEach(line -> out.println(MarkdownText.of(line.replaceFirst("^# ", "")) + "\n"));
            table.markdown().forEach(out::println);
            if (!notes.isEmpty()) {
                out.println();
                notes.forEach(line -> out.println("- " + MarkdownText.of(line)));
            }
        } else {
            header().forEach(out::println);
            out.println("#");
            table.lines().forEach(out::println);
            if (!notes.isEmpty()) {
                out.println("#");
                notes.forEach(line -> out.println("# " + line));
            }
        }
    }

    /** Returns the conditions of the figures beside the links of the bound, and the origin of an imported schedule. */
    private List<String> notes() {
        List<String> lines = new ArrayList<>();
        Optional<Row> inSwitch = comparison.rows().stream()
                .filter(row -> row.name().equals(SwitchRate.PACKING))
                .findFirst();
        if (!comparison.beyond().isEmpty()) {
            lines.add("ratio: to the bound (" + comparison.counted() + ")"
                    + (inSwitch.isPresent()
                            ? "; of rows \"in the switch\" to the bound with reduction in switches"
                            : "")
                    + "; rows use no other links unless a remark says so");
        }
        lines.add("algbw, ratio: by the links alone; depth: most hops between a root and a device (one-shot: rounds);"
                + " (rings): one that runs both ways counts as two, and banyan export repeats rings as channels");
        lines.add("predicted by the simulator: calls out of place" + predicted.buffers()
                + ", with some assumed constants (predict -v prints them)"
                + (predicted.execution() == Execution.PROGRAMS
                        ? "; banyan predict has ranges where they are known, and names no fastest row where they"
                                + " overlap. Below algbw, since kernels reach only a part of a link's speed, a GPU's"
                                + " thread blocks, which several trees share, move only so much, and parts of the data"
                                + " wait for each other (docs/simulator.md)"
                        : ", as CUDA graphs, whose ranges are not known; below algbw, since the profile's copies"
                                + " reach only a part of the counted speeds, and chunks wait for each other"));
        predicted.remark().ifPresent(lines::add);
        if (inSwitch.map(Row::predictedGBs).isPresent()) {
            lines.add("packing, star: the rows without the switch are of trees alone, and have no prediction; above "
                    + PredictedExecution.LINES
                    + " times of packing and star in banyan predict and on the page are those in the switch");
        }
        if (!comparison.relays().isEmpty()) {
            lines.add("predicted: nothing that goes through relays");
        }
        remark.ifPresent(lines::add);
        if (comparison.rows().stream().anyMatch(row -> row.name().endsWith("(exact)"))) {
            lines.add("multi-tree (exact): the balanced trees whose links have the greatest sum of speeds, not those"
                    + " with the highest rate (banyan predict -a multi-tree/exact has times by size; auto takes"
                    + " such trees only with MXNET_KVSTORE_TREE_BACKTRACK=1)");
        }
        String overOthers = comparison.rows().stream()
                .filter(row -> Comparison.OVER_OTHERS.equals(row.remark()))
                .map(Row::name)
                .collect(Collectors.joining(", "));
        if (!overOthers.isEmpty()) {
            lines.add(TerminalText.of(overOthers) + ": " + Comparison.OVER_OTHERS);
        }
        for (Row row : comparison.rows()) {
            if (row.remark() != null && !row.remark().equals(Comparison.OVER_OTHERS)) {
                lines.add(TerminalText.of(row.remark()));
            }
            ImportedSchedule.Origin origin = row.schedule();
            if (origin != null) {
                lines.add(TerminalText.of(row.name() + ": " + origin.task() + ", from " + origin.file()
                        + (origin.collective().equals(Collective.ALL_REDUCE.label())
                                ? ""
                                : "; its bound: " + origin.certificate().sentence())
                        + (origin.allLinks()
                                ? "; goes between devices that the links of the bound do not join, so rated on all"
                                        + " links"
                                : "")));
            }
        }
        lines.add("times by size, with ranges where they are known: banyan predict -a all,auto,nccl -b 1K -e 1G -f 4;"
                + " files for NCCL, RCCL or MSCCL++, and what these gain: banyan export");
        return lines;
    }

    private static String busbw(double gbs) {
        return " (" + Numbers.plain(gbs) + " of busbw)";
    }

    private List<String> header() {
        List<String> lines = new ArrayList<>();
        String which = comparison.devices().toString().replace(" ", "");
        double busFactor = Collective.ALL_REDUCE.busFactor(comparison.devices().size());
        lines.add("# " + TerminalText.of(comparison.machine()) + ": allreduce between "
                + comparison.devices().size() + " devices " + which
                + (comparison.relays().isEmpty()
                        ? ""
                        : ", relays " + comparison.relays().toString().replace(" ", "")));
        lines.add("# bound" + (comparison.counted().isEmpty() ? "" : " (" + comparison.counted() + ")") + ": "
                + TerminalText.of(comparison.certificate().sentence())
                + busbw(comparison.boundGBs() * busFactor)
                + (comparison.boundWithoutRelaysGBs() == null
                        ? ""
                        : "; without relays " + Numbers.gbs(comparison.boundWithoutRelaysGBs())));
        comparison
                .beyond()
                .forEach(limit -> lines.add("# "
                        + (limit.isOverAllLinks()
                                ? TerminalText.of(limit.sentence())
                                : TerminalText.of(limit.reason()) + busbw(limit.busbwGBs()))));
        Assumptions.line(comparison.assumed()).ifPresent(line -> lines.add("# " + line));
        comparison.remarks().forEach(remark -> lines.add("# " + TerminalText.of(remark)));
        if (comparison.hint() != null) {
            lines.add("# hint: " + TerminalText.of(comparison.hint()));
        }
        return lines;
    }
}
