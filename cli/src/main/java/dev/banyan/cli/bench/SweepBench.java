package dev.banyan.cli.bench;

import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs a sweep and reports it. */
record SweepBench(RankSite site, Reporter reporter) {
    private static final long SEED = 2024;
    /** Long enough, over all algorithms, for the JVM to compile what they share before the first is measured. */
    private static final long WARM_UP_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final long WARM_UP_BYTES = 256 << 10;
    private static final int MOST_WARM_UPS = 20_000;

    /** Returns the number of wrong elements. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        Memory.require(
                Math.multiplyExact(2L * call.ranks(), bytes),
                "give a smaller largest size with -e, or fewer devices with --devices");
        List<Row> rows;
        try (Arena arena = Arena.ofShared()) {
            RankMemory first = site.allocate(arena, bytes);
            RankMemory second = site.allocate(arena, bytes);
            DeviceCalls calls = new DeviceCalls(first, second);
            DataType type = call.element().type();
            ReferenceCheck check = sweep.checked()
                    ? new ReferenceCheck(type, call.op(), call.ranks(), bytes / type.bytes(), SEED)
                    : null;
            if (first.isOfHost() && sweep.repeats().warmups() > 0) {
                warmUp(sweep, calls);
            }
            reporter.lines(NcclTable.MEASURED.header());
            rows = reporter.<Long, Row>rows(
                    "bench",
                    sweep.algorithms().choices(),
                    sweep::title,
                    sweep.counts(),
                    algorithm -> {
                        Communicator communicator = site.open(algorithm);
                        return Meter.on(
                                communicator, count -> row(sweep, algorithm, communicator, count, calls, check));
                    },
                    NcclTable.MEASURED::row);
            if (rows.isEmpty()) {
                return 0;
            }
            reporter.lines(NcclTable.MEASURED.footer(rows));
            reporter.lines(conclusions(rows, first, second));
        }
        reporter.result(rows.stream().map(Row::json).toList());
        reporter.draw(site.machine().name(), rows);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    /** Measures one size, and checks it where there is a reference. */
    private static Row row(
            Sweep sweep,
            AlgorithmChoice algorithm,
            Communicator communicator,
            long count,
            DeviceCalls calls,
            @Nullable ReferenceCheck check) {
        Call call = sweep.call();
        Long wrongApart = check == null ? null : (Long) calls.checkApart(communicator, call, count, 0, check);
        CollectiveCall apart = calls.apart(call, count, 0);
        long[] apartNanos = sweep.repeats().time(() -> communicator.run(apart));
        Long wrongTogether = check == null ? null : (Long) calls.checkTogether(communicator, call, count, 0, check);
        CollectiveCall together = calls.together(call, count, 0);
        long[] togetherNanos = sweep.repeats().time(() -> communicator.run(together));
        return new Row(
                algorithm,
                call,
                count,
                Measurement.of(call, count, apartNanos, wrongApart),
                Measurement.of(call, count, togetherNanos, wrongTogether));
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

    private static List<String> conclusions(List<Row> rows, RankMemory first, RankMemory second) {
        Summary summary = new Summary(rows);
        List<String> lines = summary.comparison("median time (us)");
        if (first.isOfHost()) {
            MemorySegment[] to = second.buffers().toArray(MemorySegment[]::new);
            lines.add("#");
            lines.addAll(summary.expectation(
                    CopyBound.measure(first.buffers().toArray(MemorySegment[]::new), to), CopyBound.measure(to, to)));
        }
        return lines;
    }
}
