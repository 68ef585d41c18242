package dev.banyan.cli.bench.report;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Prints results: as lines while they come in for people, at the end and alone for programs. A reader that has gone, as
 * {@code head} does, ends the run.
 */
public final class Reporter {
    private final PrintWriter out;
    private final PrintWriter err;
    private final boolean forPrograms;
    private final @Nullable PlotFile plot;
    private final BiConsumer<RunContext, Object> answer;
    private final List<Object> results = new ArrayList<>();
    private RunContext context = RunContext.NONE;

    /**
     * @param forPrograms whether rows alone are printed, at the end
     * @param plot where sweeps are drawn, or null for nowhere
     * @param answer prints rows with what their figures hold for
     */
    public Reporter(
            PrintWriter out,
            PrintWriter err,
            boolean forPrograms,
            @Nullable PlotFile plot,
            BiConsumer<RunContext, Object> answer) {
        this.answer = answer;
        this.out = out;
        this.err = err;
        this.forPrograms = forPrograms;
        this.plot = plot;
    }

    /** Returns a reporter of a process that prints nothing. */
    public Reporter silent() {
        return new Reporter(
                new PrintWriter(Writer.nullWriter()), new PrintWriter(Writer.nullWriter()), forPrograms, null, answer);
    }

    /**
     * Prints what the times come from, which machine is meant, and what is odd about it.
     *
     * @param how what is measured or simulated, in words
     * @param conditions what executes calls, by which constants and on which buffers
     * @param settingWarnings what is odd about the settings
     */
    public void introduce(ChosenMachine chosen, String how, RunContext conditions, List<String> settingWarnings) {
        context = conditions;
        lines(List.of("# " + TerminalText.of(how) + ": "
                + TerminalText.of(chosen.machine().name()) + ", "
                + Numbers.count(chosen.machine().size(), "device")));
        if (chosen.remark() != null) {
            lines(List.of("# " + TerminalText.of(chosen.remark())));
        }
        Assumptions.line(chosen.assumed()).ifPresent(line -> lines(List.of("# " + line)));
        Stream.concat(chosen.warnings().stream(), settingWarnings.stream())
                .forEach(warning -> err.println("warning: " + TerminalText.of(warning)));
    }

    /** Prints the same of measured times. */
    public void introduce(ChosenMachine chosen, String how, Platform platform, List<String> settingWarnings) {
        introduce(chosen, how, RunContext.of(chosen.machine(), platform, null), settingWarnings);
    }

    /** Lines for people only. */
    public void lines(List<String> lines) {
        if (!forPrograms) {
            lines.forEach(out::println);
            out.flush();
        }
    }

    /** Returns whether nobody reads any more. */
    public boolean abandoned() {
        return out.checkError();
    }

    /** Adds rows to the result for programs. */
    public void result(List<?> rows) {
        results.addAll(rows);
    }

    /** Ends the run: prints the whole result for programs, if there is any. */
    public void finish() {
        if (forPrograms && !results.isEmpty()) {
            answer.accept(context, results);
        }
    }

    /**
     * Adds the rows of a sweep to the result, and draws them for those who asked for a picture. Returns the number of
     * wrong elements.
     *
     * @param where what the times are of, for the title
     * @param boundGbs what no schedule on the links exceeds, in GB/s algbw; null where times are not those of links
     */
    public long sweep(String where, List<Row> rows, @Nullable Double boundGbs) {
        result(rows.stream().map(Row::json).toList());
        if (plot != null) {
            Call call = rows.getFirst().call();
            Map<String, Map<Long, Double>> us = new LinkedHashMap<>();
            rows.forEach(row -> us.computeIfAbsent(ChoiceText.name(row.algorithm()), _ -> new LinkedHashMap<>())
                    .put(row.bytes(), row.outOfPlace().timeUs()));
            plot.write(CallPicture.of(
                    call.collective().label() + " on " + where,
                    "out of place",
                    call.collective().busFactor(call.ranks()),
                    boundGbs,
                    us));
        }
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    public Progress progress(String task, long steps) {
        return Progress.start(task, steps, err);
    }

    /**
     * Begins a table of measurements, each of which is printed as soon as it is made.
     *
     * @param count number of measurements to come
     * @param line prints one
     */
    public <R> Rows<R> rows(String task, int count, Function<R, String> line) {
        return new Rows<>(this, progress(task, count), line);
    }
}
