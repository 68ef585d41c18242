package dev.banyan.cli.bench;

import dev.banyan.cli.input.RankedGpus;
import dev.banyan.cli.output.Progress;
import dev.banyan.reduce.AlgorithmChoice;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Measures GPUs. */
final class CudaBench implements Bench {
    private static final long SEED = 2024;

    private final RankedGpus ranked;
    private final CudaSite site;
    private final Reporter reporter;

    /** @param site the same ranks */
    CudaBench(RankedGpus ranked, CudaSite site, Reporter reporter) {
        this.ranked = ranked;
        this.site = site;
        this.reporter = reporter;
    }

    @Override
    public String devices() {
        return "GPUs " + ranked.gpus() + " through CUDA";
    }

    @Override
    public long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        Memory.require(
                Math.multiplyExact(2L * call.ranks(), bytes),
                "give a smaller largest size with -e, or fewer devices with --devices");
        List<Row> rows = new ArrayList<>();
        try (Arena arena = Arena.ofShared();
                Progress progress = reporter.progress("bench", sweep.rows())) {
            ReferenceCheck check = sweep.checked()
                    ? new ReferenceCheck(
                            call.element().type(), call.op(), call.ranks(), bytes / call.element().type().bytes(), SEED)
                    : null;
            DeviceCalls calls = new DeviceCalls(site.allocate(arena, bytes), site.allocate(arena, bytes));
            progress.print(() -> reporter.lines(NcclTable.MEASURED.header()));
            for (AlgorithmChoice algorithm : sweep.algorithms().choices()) {
                if (sweep.algorithms().choices().size() > 1) {
                    progress.print(() -> reporter.lines(List.of("# algorithm: " + algorithm.label())));
                }
                try (Communicator communicator = site.open(algorithm)) {
                    for (long count : sweep.counts()) {
                        Row row = measure(algorithm, communicator, calls, sweep, count, check);
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
            Summary summary = new Summary(rows);
            if (sweep.algorithms().choices().size() > 1) {
                progress.print(() -> reporter.lines(summary.table("median time (us)")));
            }
            summary.crossover().ifPresent(line -> progress.print(() -> reporter.lines(List.of(line))));
        }
        reporter.result(rows.stream().map(Row::report).toList());
        reporter.draw(ranked.chosen().machine().name(), rows);
        return rows.stream().mapToLong(Row::wrong).sum();
    }

    private static Row measure(
            AlgorithmChoice algorithm,
            Communicator communicator,
            DeviceCalls calls,
            Sweep sweep,
            long count,
            @Nullable ReferenceCheck check) {
        Call call = sweep.call();
        CollectiveCall apart = calls.apart(call, count, 0);
        CollectiveCall together = calls.together(call, count, 0);
        Long wrongApart = check == null ? null : (Long) calls.checkApart(communicator, call, count, 0, check);
        Measurement outOfPlace =
                Measurement.of(call, count, sweep.repeats().time(() -> communicator.run(apart)), wrongApart);
        Long wrongTogether = check == null ? null : (Long) calls.checkTogether(communicator, call, count, 0, check);
        Measurement inPlace =
                Measurement.of(call, count, sweep.repeats().time(() -> communicator.run(together)), wrongTogether);
        return new Row(algorithm, call, count, outOfPlace, inPlace);
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        return new WorkloadBench(site, reporter).run(workload, algorithms, rounds);
    }
}
