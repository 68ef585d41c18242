package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.CopyBound;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.call.PlainLoop;
import dev.banyan.cli.bench.call.ReferenceCheck;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.call.WarmUp;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.NcclTable;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.cli.bench.report.Rows;
import dev.banyan.cli.bench.report.Summary;
import dev.banyan.cli.output.Progress;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Runs a sweep and reports it. On host memory each row is warmed up until it is steady, and is followed by what it is
 * judged by: a loop written by hand, and a plain copy at the largest size.
 */
final class SweepBench {
    private static final long SEED = 2024;
    /** True if the JVM was started with the module that {@link PlainLoop} needs. */
    private static final boolean HAS_VECTORS =
            ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent();

    private final RankSite site;
    private final RunArguments.Runs runs;
    private final Reporter reporter;
    private @Nullable CopyBound apartBound;
    private @Nullable CopyBound inPlaceBound;

    SweepBench(RankSite site, RunArguments.Runs runs, Reporter reporter) {
        this.site = site;
        this.runs = runs;
        this.reporter = reporter;
    }

    /** Returns the number of wrong elements. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        FreeMemory.require(
                Math.multiplyExact(2L * call.ranks(), bytes),
                "give a smaller largest size with -e, or fewer devices with --devices");
        List<Row> rows;
        try (Arena arena = Arena.ofShared()) {
            RankMemory first;
            RankMemory second;
            ReferenceCheck check;
            try (Progress _ = reporter.progress("prepare", 1)) {
                first = site.allocate(arena, bytes);
                second = site.allocate(arena, bytes);
                DataType type = call.element().type();
                check = runs.checked()
                        ? new ReferenceCheck(type, call.op(), call.ranks(), bytes / type.bytes(), SEED)
                        : null;
            }
            DeviceCalls calls = new DeviceCalls(first, second, 0);
            boolean onHost = first.isOfHost();
            PlainLoop loop = onHost && HAS_VECTORS ? PlainLoop.of(call, second.buffers()) : null;
            sweep.compile(runs.repeats(), site, calls);
            reporter.lines(NcclTable.MEASURED.header());
            try (Rows<Row> table = reporter.rows("bench", sweep.rows(), NcclTable.MEASURED::row)) {
                for (AlgorithmConfig algorithm : sweep.algorithms()) {
                    table.title(sweep.title(algorithm));
                    try (Communicator communicator = site.open(algorithm)) {
                        for (long count : sweep.counts()) {
                            Row row = row(call, algorithm, communicator, count, calls, check, onHost, loop);
                            if (onHost && count == sweep.largestCount()) {
                                copy(first, second);
                            }
                            if (table.isLast(row)) {
                                return 0;
                            }
                        }
                    }
                }
                rows = table.all();
            }
            reporter.lines(NcclTable.MEASURED.footer(rows));
            reporter.lines(conclusions(rows));
        }
        reporter.result(rows.stream().map(Row::json).toList());
        reporter.draw(site.place(), rows, null);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    /** Measures one size, and checks it where there is a reference. */
    private Row row(
            Call call,
            AlgorithmConfig algorithm,
            Communicator communicator,
            long count,
            DeviceCalls calls,
            @Nullable ReferenceCheck check,
            boolean onHost,
            @Nullable PlainLoop loop) {
        Repeats repeats = runs.repeats();
        Long wrongApart = check == null ? null : (Long) calls.checkApart(communicator, call, count, 0, check);
        CollectiveCall apart = calls.apart(call, count, 0);
        communicator.prepare(apart);
        long[] apartNanos = time(repeats, onHost, () -> communicator.run(apart));
        Long wrongTogether = check == null ? null : (Long) calls.checkTogether(communicator, call, count, 0, check);
        CollectiveCall together = calls.together(call, count, 0);
        communicator.prepare(together);
        long[] togetherNanos = time(repeats, onHost, () -> communicator.run(together));
        return new Row(
                algorithm,
                call,
                count,
                Measurement.of(call, count, apartNanos, wrongApart),
                Measurement.of(call, count, togetherNanos, wrongTogether),
                loop == null ? null : (Double) loop.medianUs(repeats, count));
    }

    private static long[] time(Repeats repeats, boolean onHost, Runnable call) {
        if (onHost && repeats.warmups() > 0) {
            WarmUp.untilSteady(call);
        }
        return repeats.time(call);
    }

    private void copy(RankMemory first, RankMemory second) {
        MemorySegment[] from = first.buffers().toArray(MemorySegment[]::new);
        MemorySegment[] to = second.buffers().toArray(MemorySegment[]::new);
        apartBound = CopyBound.measure(from, to).or(apartBound);
        inPlaceBound = CopyBound.measure(to, to).or(inPlaceBound);
    }

    private List<String> conclusions(List<Row> rows) {
        Summary summary = new Summary(rows);
        List<String> lines = summary.comparison("median time (us) out of place (the times above are means)");
        if (apartBound != null && inPlaceBound != null) {
            lines.add("#");
            lines.addAll(summary.besideLoop());
            lines.addAll(summary.expectation(apartBound, inPlaceBound));
        }
        return lines;
    }
}
