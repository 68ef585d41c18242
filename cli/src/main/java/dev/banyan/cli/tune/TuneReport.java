package dev.banyan.cli.tune;

import dev.banyan.cli.output.TerminalText;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.text.TextTable;
import dev.banyan.study.tune.IterationTimes;
import dev.banyan.study.tune.Tuner;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of tuning, for people, programs and the configuration.
 *
 * @param executor what carried out the calls
 * @param devices their number
 * @param how what the times come from, in words
 * @param remarks on what the times are worth
 * @param sizes by ascending size
 * @param ways what an iteration of the workload takes; empty without one
 * @param bound the best array bound of the workload, or null without one
 */
record TuneReport(
        Tuning tuning,
        Platform executor,
        int devices,
        Collective collective,
        String how,
        List<String> remarks,
        List<Tuner.Found> sizes,
        @Nullable Workload workload,
        List<IterationTimes.Iteration> ways,
        IterationTimes.@Nullable Bound bound) {
    private boolean isByKernels() {
        return !executor.backend().equals("host") && executor.execution() == Execution.PROGRAMS;
    }

    private SizeRules rules() {
        return tuning.rules().getOrDefault(collective, SizeRules.AUTO);
    }

    /**
     * Returns the lines for people.
     *
     * @param origin where the machine comes from, or null where the user named it
     */
    List<String> lines(String file, @Nullable String origin) {
        List<String> lines = new ArrayList<>();
        lines.add("# " + how + ", executor " + executor.execution().label()
                + (isByKernels() ? " (graphs where kernels cannot run)" : "")
                + ": "
                + TerminalText.of(tuning.machine()) + ", " + devices + " devices, " + collective.label());
        if (origin != null) {
            lines.add("# " + TerminalText.of(origin));
        }
        lines.add("#");
        List<String> columns = new ArrayList<>(List.of("size", "choice", "time\n(us)", "algbw\n(GB/s)"));
        List<AlgorithmChoice> shown = List.copyOf(sizes.getFirst().best().keySet());
        shown.forEach(algorithm -> columns.add(algorithm.label() + "\n(us)"));
        TextTable table = new TextTable(columns);
        for (Tuner.Found found : sizes) {
            List<String> row = new ArrayList<>(List.of(
                    new ByteSize(found.bytes()).label(),
                    ChoiceText.of(found.choice()) + (found.apart() ? "*" : " "),
                    us(found.us()),
                    Numbers.format("%.2f", found.bytes() / found.us() / 1e3)));
            shown.forEach(algorithm -> row.add(us(found.tried(algorithm).us())));
            table.row(row);
        }
        lines.addAll(table.lines());
        if (bound != null && workload != null) {
            lines.add("#");
            lines.add("# one iteration over the " + workload.keys() + " keys of " + TerminalText.of(workload.name()));
            TextTable iterations = new TextTable("settings", "one by one\n(ms)", "all in flight\n(ms)");
            ways.forEach(way -> iterations.row(way.name(), ms(way.oneByOneMs()), ms(way.togetherMs())));
            lines.addAll(iterations.lines());
            lines.add("# best MXNET_KVSTORE_TREE_ARRAY_BOUND of single trees and many: " + bound.elements() + " ("
                    + ms(bound.oneByOneMs()) + " ms one by one)");
        }
        lines.add("#");
        lines.add(
                sizes.stream().anyMatch(Tuner.Found::apart)
                        ? "# * is the fastest: its range overlaps with that of no other algorithm"
                        : "# at no size is the choice known to be the fastest: its range, or that of another algorithm,"
                                + " is unknown or they overlap");
        lines.add(
                "# times are out of place; a column has the best of all lengths of chunks and numbers of trees, within"
                        + " 1%");
        remarks.forEach(remark -> lines.add("# " + remark));
        lines.add("# by size: " + rules());
        lines.add("# written to " + TerminalText.of(file));
        return lines;
    }

    private static String us(double us) {
        return us >= 10_000 ? Numbers.format("%.0f", us) : Numbers.format("%.1f", us);
    }

    private static String ms(double ms) {
        return Numbers.format("%.3f", ms);
    }

    /** A size as JSON has it. */
    record Size(long bytes, String choice, boolean apart, double timeUs, double algbwGBs, Map<String, Best> best) {}

    /** The best of one algorithm. */
    record Best(String choice, double timeUs) {}

    /** All as JSON has it. */
    record Report(
            String collective,
            String how,
            String rules,
            List<Size> rows,
            @Nullable String workload,
            List<IterationTimes.Iteration> ways,
            @Nullable Long bestArrayBound,
            String output) {}

    /** For programs. */
    Report json(String file) {
        return new Report(
                collective.label(),
                how,
                rules().toString(),
                sizes.stream().map(TuneReport::size).toList(),
                workload == null ? null : workload.name(),
                ways,
                bound == null ? null : bound.elements(),
                file);
    }

    private static Size size(Tuner.Found found) {
        Map<String, Best> best = new LinkedHashMap<>();
        for (AlgorithmChoice algorithm : found.best().keySet()) {
            Tuner.Tried tried = found.tried(algorithm);
            best.put(algorithm.label(), new Best(tried.choice().toString(), tried.us()));
        }
        return new Size(
                found.bytes(),
                found.choice().toString(),
                found.apart(),
                found.us(),
                found.bytes() / found.us() / 1e3,
                best);
    }
}
