package dev.banyan.cli.bench;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.Progress;
import dev.banyan.schedule.algorithm.Packings;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Config;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.type.DataType;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.simulate.TraceWriter;
import dev.banyan.trees.bound.Bound;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Predicts by the simulator, on the machine's own wires. The same input gives the same output. */
final class SimulatedBench implements Bench {
    private static final int FEW_IN_FLIGHT = 50;

    private final ChosenMachine chosen;
    private final SimulatedCosts costs;
    private final Reporter reporter;
    private final @Nullable Path trace;

    /** @param trace where the timeline of the last run goes, or null for none */
    SimulatedBench(ChosenMachine chosen, Profile profile, Reporter reporter, @Nullable Path trace) {
        this.chosen = chosen;
        costs = new SimulatedCosts(chosen.machine(), profile);
        this.reporter = reporter;
        this.trace = trace;
    }

    @Override
    public String devices() {
        return "simulated with profile " + costs.profile().name();
    }

    /** A row as JSON has it: the figures out of place, then those in place. */
    private record SweepReport(
            String algorithm,
            String collective,
            long bytes,
            long count,
            String type,
            String op,
            double timeUs,
            double algbwGBs,
            double busbwGBs,
            String choice,
            int root,
            int ranks,
            InPlace inPlace) {}

    private record InPlace(double timeUs, double algbwGBs, double busbwGBs, String choice) {}

    private record WorkloadReport(
            String workload, int keys, long bytes, int inFlight, String algorithm, double timeMs, double algbwGBs) {}

    @Override
    public long run(Sweep sweep) {
        List<Row> rows = new ArrayList<>();
        List<SweepReport> reports = new ArrayList<>();
        NcclTable table = NcclTable.PREDICTED;
        try (Progress progress = reporter.progress("bench", sweep.rows())) {
            progress.print(() -> reporter.lines(table.header()));
            for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
                if (sweep.algorithms().choices().size() > 1) {
                    progress.print(() -> reporter.lines(List.of("# algorithm: " + algorithm.label())));
                }
                Predictions predictions = predictions(algorithm);
                for (long count : sweep.counts()) {
                    PlannedSchedule apart = predictions.plan(sweep.call().request(count, false));
                    PlannedSchedule together = predictions.plan(sweep.call().request(count, true));
                    Row row = new Row(
                            algorithm,
                            sweep.call(),
                            count,
                            Measurement.predicted(sweep.call(), count, predictions.us(apart)),
                            Measurement.predicted(sweep.call(), count, predictions.us(together)));
                    rows.add(row);
                    reports.add(report(row, apart, together));
                    progress.step();
                    progress.print(() -> reporter.lines(List.of(table.row(row))));
                    if (reporter.abandoned()) {
                        return 0;
                    }
                }
            }
            progress.print(() -> reporter.lines(table.footer(rows)));
            progress.print(() -> reporter.lines(conclusions(sweep, rows)));
        }
        if (trace != null) {
            Predictions predictions = predictions(sweep.algorithms().choices().getFirst());
            PlannedSchedule last = predictions.plan(sweep.call().request(sweep.largestCount(), true));
            write(trace, predictions, List.of(last), 1);
        }
        reporter.result(reports);
        reporter.draw(chosen.machine().name(), rows);
        return 0;
    }

    private Predictions predictions(AlgorithmChoice algorithm) {
        return new Predictions(
                chosen.machine(), Config.builder().algorithm(algorithm).load(), costs);
    }

    private static SweepReport report(Row row, PlannedSchedule apart, PlannedSchedule together) {
        return new SweepReport(
                row.algorithm().label(),
                row.call().collective().label(),
                row.bytes(),
                row.count(),
                row.call().element().label(),
                row.call().opLabel(),
                row.outOfPlace().timeUs(),
                row.outOfPlace().algbwGBs(),
                row.outOfPlace().busbwGBs(),
                apart.choice().toString(),
                row.call().root(),
                row.call().ranks(),
                new InPlace(
                        row.inPlace().timeUs(),
                        row.inPlace().algbwGBs(),
                        row.inPlace().busbwGBs(),
                        together.choice().toString()));
    }

    private List<String> conclusions(Sweep sweep, List<Row> rows) {
        Summary summary = new Summary(rows);
        List<String> lines = new ArrayList<>();
        if (sweep.algorithms().choices().size() > 1) {
            lines.add("#");
            lines.addAll(summary.table("predicted time (us)"));
        }
        summary.crossover().ifPresent(lines::add);
        Bound bound = Packings.best(chosen.network())
                .packing(sweep.call().collective(), sweep.call().root())
                .bound();
        lines.add("#");
        lines.addAll(summary.shareOf(bound.gbs().doubleValue()));
        return lines;
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        int[] depths = IntStream.of(1, FEW_IN_FLIGHT, workload.keys())
                .map(depth -> Math.min(depth, workload.keys()))
                .distinct()
                .toArray();
        long bytes = workload.totalElements() * DataType.F32.bytes();
        List<WorkloadReport> reports = new ArrayList<>();
        try (Progress progress = reporter.progress(
                workload.name(), (long) depths.length * algorithms.choices().size())) {
            reporter.lines(List.of(
                    "# workload " + workload.name() + ": " + workload.keys() + " keys, " + bytes + " bytes on each of "
                            + chosen.machine().size() + " devices, in place; calls in flight share the wires",
                    Numbers.format("# %12s  %9s  %10s  %7s", "algorithm", "in flight", "time", "algbw"),
                    Numbers.format("# %12s  %9s  %10s  %7s", "", "(keys)", "(ms)", "(GB/s)")));
            for (AlgorithmChoice algorithm : algorithms.choices()) {
                Predictions predictions = predictions(algorithm);
                List<PlannedSchedule> calls = predictions.plan(workload);
                for (int depth : depths) {
                    double us = predictions.us(calls, depth);
                    WorkloadReport report = new WorkloadReport(
                            workload.name(),
                            workload.keys(),
                            bytes,
                            depth,
                            algorithm.label(),
                            us / 1e3,
                            bytes / us / 1e3);
                    reports.add(report);
                    progress.step();
                    progress.print(() -> reporter.lines(List.of(Numbers.format(
                            "  %12s  %9d  %10.3f  %7.2f",
                            report.algorithm, report.inFlight, report.timeMs, report.algbwGBs))));
                    if (reporter.abandoned()) {
                        return 0;
                    }
                }
            }
        }
        if (trace != null) {
            Predictions predictions = predictions(algorithms.choices().getFirst());
            write(trace, predictions, predictions.plan(workload), workload.keys());
        }
        reporter.result(reports);
        return 0;
    }

    private void write(Path file, Predictions predictions, List<PlannedSchedule> calls, int depth) {
        TraceWriter timeline = new TraceWriter(costs.network());
        List<Job> jobs = Predictions.jobs(calls, depth);
        double us = predictions.simulator(calls).run(jobs, timeline).endUs();
        try {
            timeline.write(file);
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "cannot write the timeline " + file + " (" + e + "); name another file with --trace", e);
        }
        reporter.lines(List.of(
                "#",
                "# timeline of " + (calls.size() == 1 ? "the largest size, in place" : "all keys in flight") + ", "
                        + Numbers.plain(us) + " us: " + file + " (open it in ui.perfetto.dev)"));
    }
}
