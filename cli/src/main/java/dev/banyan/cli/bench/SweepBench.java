package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.CopyBound;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.PlainLoop;
import dev.banyan.cli.bench.call.WarmUp;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.NcclTable;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.cli.bench.report.Summary;
import dev.banyan.cli.output.Progress;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Runs a sweep and reports it. On host memory each row is warmed up until it is steady, and is followed by what it is
 * judged by: a loop written by hand, and a plain copy at the largest size.
 */
final class SweepBench {
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
            CallMeter meter;
            try (Progress _ = reporter.progress("prepare", 1)) {
                first = site.allocate(arena, bytes);
                second = site.allocate(arena, bytes);
                meter = new CallMeter(
                        call,
                        new DeviceCalls(first, second, 0),
                        CallMeter.reference(call, bytes, runs.checked()),
                        LongUnaryOperator.identity());
            }
            boolean onHost = first.isOfHost();
            PlainLoop loop = onHost && HAS_VECTORS ? PlainLoop.of(call, second.buffers()) : null;
            sweep.compile(runs.repeats(), site, meter.calls());
            reporter.lines(NcclTable.MEASURED.header());
            rows = sweep.measure(reporter, NcclTable.MEASURED::row, site::open, (algorithm, communicator) -> count -> {
                Row row = meter.row(algorithm, communicator, count, timed -> time(onHost, timed));
                row = loop == null ? row : row.withLoop(loop.medianUs(runs.repeats(), count));
                if (onHost && count == sweep.largestCount()) {
                    copy(first, second);
                }
                return row;
            });
            if (rows.isEmpty()) {
                return 0;
            }
            reporter.lines(NcclTable.footer(rows));
            reporter.lines(conclusions(rows));
        }
        return reporter.sweep(site.place(), rows, null);
    }

    private long[] time(boolean onHost, Runnable call) {
        if (onHost && runs.repeats().warmups() > 0) {
            WarmUp.untilSteady(call);
        }
        return runs.repeats().time(call);
    }

    private void copy(RankMemory first, RankMemory second) {
        MemorySegment[] from = first.buffers().toArray(MemorySegment[]::new);
        MemorySegment[] to = second.buffers().toArray(MemorySegment[]::new);
        apartBound = CopyBound.measure(from, to).or(apartBound);
        inPlaceBound = CopyBound.measure(to, to).or(inPlaceBound);
    }

    private List<String> conclusions(List<Row> rows) {
        Summary summary = new Summary(rows);
        List<String> lines = summary.comparison(Summary.MEDIANS);
        if (apartBound != null && inPlaceBound != null) {
            lines.add("#");
            lines.addAll(summary.besideLoop());
            lines.addAll(summary.expectation(apartBound, inPlaceBound));
        }
        return lines;
    }
}
