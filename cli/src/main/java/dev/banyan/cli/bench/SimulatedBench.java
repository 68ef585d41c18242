package dev.banyan.cli.bench;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.TextFile;
import dev.banyan.config.Config;
import dev.banyan.schedule.algorithm.Packings;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.PlannedSchedule;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.simulate.Job;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.simulate.TraceWriter;
import dev.banyan.trees.bound.Bound;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Predicts by the simulator, on the machine's own links. The same input gives the same output. */
final class SimulatedBench implements Bench {
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

    @Override
    public long run(Sweep sweep) {
        NcclTable table = NcclTable.PREDICTED;
        reporter.lines(table.header());
        List<Row> rows = reporter.<Long, Row>rows(
                "bench",
                sweep.algorithms().choices(),
                sweep::title,
                sweep.counts(),
                algorithm -> {
                    Predictions predictions = predictions(algorithm);
                    return count -> new Row(
                            algorithm,
                            sweep.call(),
                            count,
                            predicted(predictions, sweep.call(), count, false),
                            predicted(predictions, sweep.call(), count, true));
                },
                table::row);
        if (rows.isEmpty()) {
            return 0;
        }
        reporter.lines(table.footer(rows));
        reporter.lines(conclusions(sweep, rows));
        if (trace != null) {
            Predictions predictions = predictions(sweep.algorithms().choices().getFirst());
            PlannedSchedule last = predictions.plan(sweep.call().request(sweep.largestCount(), true));
            write(trace, predictions, List.of(last), 1);
        }
        reporter.result(rows.stream().map(Row::json).toList());
        reporter.draw(chosen.machine().name(), rows);
        return 0;
    }

    private static Measurement predicted(Predictions predictions, Call call, long count, boolean inPlace) {
        PlannedSchedule planned = predictions.plan(call.request(count, inPlace));
        return Measurement.predicted(
                call, count, predictions.us(planned), planned.choice().toString());
    }

    private Predictions predictions(AlgorithmChoice algorithm) {
        return new Predictions(
                chosen.machine(),
                Config.builder()
                        .set(Planner.ALGORITHM, SizeRules.always(algorithm))
                        .load(),
                costs);
    }

    private List<String> conclusions(Sweep sweep, List<Row> rows) {
        Summary summary = new Summary(rows);
        List<String> lines = summary.comparison("predicted time (us)");
        Bound bound = Packings.best(chosen.network())
                .packing(sweep.call().collective(), sweep.call().root())
                .bound();
        lines.add("#");
        lines.addAll(summary.shareOf(bound.gbs().doubleValue()));
        return lines;
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        reporter.lines(WorkloadRow.header(workload, chosen.machine().size(), false));
        List<WorkloadRow> rows = reporter.<Integer, WorkloadRow>rows(
                workload.name(),
                algorithms.choices(),
                algorithm -> List.of(),
                WorkloadRow.depths(workload),
                algorithm -> {
                    Predictions predictions = predictions(algorithm);
                    List<PlannedSchedule> calls = predictions.plan(workload);
                    return depth ->
                            WorkloadRow.of(workload, depth, algorithm, predictions.us(calls, depth) / 1e3, null, null);
                },
                WorkloadRow::line);
        if (rows.isEmpty()) {
            return 0;
        }
        if (trace != null) {
            Predictions predictions = predictions(algorithms.choices().getFirst());
            write(trace, predictions, predictions.plan(workload), workload.keys());
        }
        reporter.result(rows);
        return 0;
    }

    private void write(Path file, Predictions predictions, List<PlannedSchedule> calls, int depth) {
        TraceWriter timeline = new TraceWriter(costs.network());
        List<Job> jobs = Predictions.jobs(calls, depth);
        double us = predictions.simulator(calls).run(jobs, timeline).endUs();
        TextFile.write(file, (TextFile.Content) timeline::write);
        reporter.lines(List.of(
                "#",
                "# timeline of " + (calls.size() == 1 ? "the largest size, in place" : "all keys in flight") + ", "
                        + Numbers.plain(us) + " us: " + file + " (open it in ui.perfetto.dev)"));
    }
}
