package dev.banyan.cli.bench;

import dev.banyan.cli.output.Progress;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a sweep and reports it. */
final class SweepBench {
    private static final long SEED = 2024;
    /** Long enough, over all algorithms, for the JVM to compile what they share before the first is measured. */
    private static final long WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long WARM_UP_BYTES = 256 << 10;
    private static final int MOST_WARM_UPS = 20_000;

    private final RankSite site;
    private final Reporter reporter;

    SweepBench(RankSite site, Reporter reporter) {
        this.site = site;
        this.reporter = reporter;
    }

    /** Returns the number of wrong elements. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        Memory.require(
                Math.multiplyExact(2L * call.ranks(), bytes),
                "give a smaller largest size with -e, or fewer devices with --devices");
        List<Row> rows = new ArrayList<>();
        try (Arena arena = Arena.ofShared();
                Progress progress = reporter.progress("bench", sweep.rows())) {
            RankMemory first = site.allocate(arena, bytes);
            RankMemory second = site.allocate(arena, bytes);
            DeviceCalls calls = new DeviceCalls(first, second);
            ReferenceCheck check = sweep.checked()
                    ? new ReferenceCheck(
                            call.element().type(),
                            call.op(),
                            call.ranks(),
                            bytes / call.element().type().bytes(),
                            SEED)
                    : null;
            SweepRunner runner = new SweepRunner(call, sweep.repeats(), check, calls);
            if (first.isOfHost() && sweep.repeats().warmups() > 0) {
                warmUp(sweep, calls);
            }
            progress.print(() -> reporter.lines(NcclTable.MEASURED.header()));
            for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
                if (sweep.algorithms().choices().size() > 1) {
                    progress.print(() -> reporter.lines(List.of("# algorithm: " + algorithm.label())));
                }
                try (Communicator communicator = site.open(algorithm)) {
                    for (long count : sweep.counts()) {
                        Row row = runner.measure(algorithm, communicator, count);
                        rows.add(row);
                        progress.step();
                        progress.print(() -> reporter.lines(List.of(NcclTable.MEASURED.row(row))));
                        if (reporter.abandoned()) {
                            return 0;
                        }
                    }
                }
            }
            progress.print(() -> reporter.lines(NcclTable.MEASURED.footer(rows)));
            List<String> conclusions = conclusions(sweep, rows, first, second);
            progress.print(() -> reporter.lines(conclusions));
        }
        reporter.result(rows.stream().map(Row::report).toList());
        reporter.draw(site.machine().name(), rows);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    private void warmUp(Sweep sweep, DeviceCalls calls) {
        Call call = sweep.call();
        Repeats repeats = new Repeats(0, 1, MOST_WARM_UPS, WARM_UP_NANOS);
        for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
            try (Communicator communicator = site.open(algorithm)) {
                for (long bytes : new long[] {call.size(sweep.counts().getFirst()), WARM_UP_BYTES}) {
                    long count = Math.min(call.countFor(bytes), sweep.largestCount());
                    CollectiveCall apart = calls.apart(call, count, 0);
                    CollectiveCall inPlace = calls.together(call, count, 0);
                    repeats.time(() -> communicator.run(apart));
                    repeats.time(() -> communicator.run(inPlace));
                }
            }
        }
    }

    private static List<String> conclusions(Sweep sweep, List<Row> rows, RankMemory first, RankMemory second) {
        Summary summary = new Summary(rows);
        List<String> lines = new ArrayList<>();
        if (sweep.algorithms().choices().size() > 1) {
            lines.add("#");
            lines.addAll(summary.table("median time (us)"));
        }
        summary.crossover().ifPresent(lines::add);
        if (first.isOfHost()) {
            MemorySegment[] to = second.buffers().toArray(MemorySegment[]::new);
            lines.add("#");
            lines.addAll(summary.expectation(
                    CopyBound.measure(first.buffers().toArray(MemorySegment[]::new), to), CopyBound.measure(to, to)));
        }
        return lines;
    }
}
