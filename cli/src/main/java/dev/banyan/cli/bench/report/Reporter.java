package dev.banyan.cli.bench.report;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.cli.bench.call.Meter;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.Json;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import java.io.PrintWriter;
import java.io.Writer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
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
    private final OutputFormat format;
    private final @Nullable PlotFile plot;
    private final BiFunction<RunContext, Object, JsonNode> answers;
    private final List<Object> results = new ArrayList<>();
    private RunContext context = RunContext.NONE;

    /**
     * @param plot where sweeps are drawn, or null for nowhere
     * @param answers makes JSON of what figures hold for and of rows
     */
    public Reporter(
            PrintWriter out,
            PrintWriter err,
            OutputFormat format,
            @Nullable PlotFile plot,
            BiFunction<RunContext, Object, JsonNode> answers) {
        this.answers = answers;
        this.out = out;
        this.err = err;
        this.format = format;
        this.plot = plot;
    }

    /** Returns a reporter of a process that prints nothing. */
    public Reporter silent() {
        return new Reporter(
                new PrintWriter(Writer.nullWriter()), new PrintWriter(Writer.nullWriter()), format, null, answers);
    }

    /**
     * Says which machine is meant, and what is odd about it.
     *
     * @param devices what stands for its devices, in words
     * @param platform what executes calls
     * @param profile the simulator's constants; null where it is not asked
     */
    public void introduce(
            ChosenMachine chosen,
            String devices,
            Platform platform,
            @Nullable String profile,
            List<String> settingWarnings) {
        context = RunContext.of(chosen.machine(), platform, profile);
        if (chosen.remark() != null) {
            lines(List.of("# " + TerminalText.of(chosen.remark())));
        }
        lines(List.of("# machine " + TerminalText.of(chosen.machine().name()) + ", "
                + Numbers.count(chosen.machine().size(), "device") + ", " + TerminalText.of(devices)));
        Assumptions.line(chosen.machine().assumed()).ifPresent(line -> lines(List.of("# " + line)));
        Stream.concat(chosen.warnings().stream(), settingWarnings.stream())
                .forEach(warning -> err.println("warning: " + TerminalText.of(warning)));
    }

    /** Lines for people only. */
    public void lines(List<String> lines) {
        if (format == OutputFormat.table) {
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
        if (format == OutputFormat.json && !results.isEmpty()) {
            Json.print(out, answers.apply(context, results));
        }
    }

    /**
     * The picture of a sweep, for those who asked for one.
     *
     * @param where what the times are of, for the title
     * @param boundGbs what no schedule on the links exceeds, in GB/s algbw; null where times are not those of links
     */
    public void draw(String where, List<Row> rows, @Nullable Double boundGbs) {
        if (plot != null) {
            plot.write(SweepPicture.of(where, rows, boundGbs));
        }
    }

    public Progress progress(String task, long steps) {
        return Progress.start(task, steps, err);
    }

    /**
     * Measures each algorithm at each point in turn, and prints a line for each measurement.
     *
     * @param title heading of an algorithm's lines; empty for none
     * @param <P> a point, e.g. a size
     * @param <R> a measurement
     * @return all measurements; none if nobody reads any more
     */
    public <P, R> List<R> rows(
            String task,
            List<AlgorithmChoice> algorithms,
            Function<AlgorithmChoice, List<String>> title,
            List<P> points,
            Function<AlgorithmChoice, Meter<P, R>> meters,
            Function<R, String> line) {
        List<R> rows = new ArrayList<>();
        try (Progress progress = progress(task, (long) points.size() * algorithms.size())) {
            for (AlgorithmChoice algorithm : algorithms) {
                progress.print(() -> lines(title.apply(algorithm)));
                try (Meter<P, R> meter = meters.apply(algorithm)) {
                    for (P point : points) {
                        R row = meter.measure(point);
                        rows.add(row);
                        progress.step();
                        progress.print(() -> lines(List.of(line.apply(row))));
                        if (abandoned()) {
                            return List.of();
                        }
                    }
                }
            }
        }
        return rows;
    }
}
