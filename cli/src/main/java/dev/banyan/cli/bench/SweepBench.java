package dev.banyan.cli.bench;

import dev.banyan.cli.output.Progress;
import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
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

    private final Machine machine;
    private final Reporter reporter;

    SweepBench(Machine machine, Reporter reporter) {
        this.machine = machine;
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
            Buffers first = Buffers.allocate(arena, call.ranks(), bytes);
            Buffers second = Buffers.allocate(arena, call.ranks(), bytes);
            ReferenceCheck check = sweep.checked()
                    ? new ReferenceCheck(
                            call.element().type(), call.op(), call.ranks(), bytes / call.element().type().bytes(), SEED)
                    : null;
            SweepRunner runner = new SweepRunner(call, sweep.repeats(), check, first, second);
            if (sweep.repeats().warmups() > 0) {
                warmUp(sweep, first, second);
            }
            progress.print(() -> reporter.lines(NcclTable.MEASURED.header()));
            for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
                if (sweep.algorithms().choices().size() > 1) {
                    progress.print(() -> reporter.lines(List.of("# algorithm: " + algorithm.label())));
                }
                try (Communicator communicator = Communicators.open(machine, algorithm)) {
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
            List<String> conclusions = conclusions(
                    sweep,
                    rows,
                    CopyBound.measure(first.first(bytes), second.first(bytes)),
                    CopyBound.measure(second.first(bytes), second.first(bytes)));
            progress.print(() -> reporter.lines(conclusions));
        }
        reporter.result(rows.stream().map(Row::report).toList());
        reporter.draw(machine.name(), rows);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    private void warmUp(Sweep sweep, Buffers first, Buffers second) {
        Call call = sweep.call();
        Repeats repeats = new Repeats(0, 1, MOST_WARM_UPS, WARM_UP_NANOS);
        for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
            try (Communicator communicator = Communicators.open(machine, algorithm)) {
                for (long bytes : new long[] {call.size(sweep.counts().getFirst()), WARM_UP_BYTES}) {
                    long count = Math.min(call.countFor(bytes), sweep.largestCount());
                    CollectiveCall apart = call.outOfPlace(
                            count, first.first(call.inputBytes(count)), second.first(call.outputBytes(count)));
                    CollectiveCall inPlace = call.inPlace(count, second.first(call.size(count)));
                    repeats.time(() -> communicator.run(apart));
                    repeats.time(() -> communicator.run(inPlace));
                }
            }
        }
    }

    private List<String> conclusions(Sweep sweep, List<Row> rows, CopyBound apart, CopyBound inPlace) {
        Summary summary = new Summary(rows);
        List<String> lines = new ArrayList<>();
        if (sweep.algorithms().choices().size() > 1) {
            lines.add("#");
            lines.addAll(summary.table("median time (us)"));
        }
        summary.crossover().ifPresent(lines::add);
        lines.add("#");
        lines.addAll(summary.expectation(apart, inPlace));
        return lines;
    }
}
