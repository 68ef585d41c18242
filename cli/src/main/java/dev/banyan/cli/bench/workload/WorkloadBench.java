package dev.banyan.cli.bench.workload;

import dev.banyan.cli.bench.call.CopyBound;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Rows;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * All-reduces a model's gradients in place, key by key in the order of keys, with a bounded number of
 * calls in flight before it waits for all of them.
 */
public record WorkloadBench(RankSite site, Reporter reporter) {
    /**
     * Returns the number of wrong elements.
     *
     * @param rounds timed rounds, or null for as many as fit in half a second, at least 3
     */
    public long run(Workload workload, List<AlgorithmConfig> algorithms, @Nullable Integer rounds) {
        Repeats repeats = rounds == null
                ? new Repeats(1, 3, 100, TimeUnit.MILLISECONDS.toNanos(500))
                : Repeats.exactly(1, rounds);
        List<WorkloadRow> rows;
        try (Arena arena = Arena.ofShared()) {
            Gradients gradients = Gradients.allocate(arena, workload, site);
            List<CollectiveCall> calls =
                    gradients.keys().stream().map(WorkloadBench::call).toList();
            reporter.lines(WorkloadRow.header(workload, site.ranks(), true));
            List<Integer> depths = WorkloadRow.depths(workload);
            try (Rows<WorkloadRow> table =
                    reporter.rows(workload.name(), algorithms.size() * depths.size(), row -> row.line(null))) {
                for (AlgorithmConfig algorithm : algorithms) {
                    try (Communicator communicator = site.open(algorithm)) {
                        calls.forEach(communicator::prepare);
                        for (int depth : depths) {
                            Runnable round = () -> push(communicator, calls, depth);
                            long wrong = gradients.wrongAfter(round);
                            long[] nanos = repeats.time(round);
                            double timeMs = Measurement.median(nanos) / 1e6;
                            if (table.isLast(WorkloadRow.of(workload, depth, algorithm, timeMs, wrong, nanos.length))) {
                                return 0;
                            }
                        }
                    }
                }
                rows = table.all();
            }
            if (gradients.areOfHost()) {
                reporter.lines(expectation(gradients, WorkloadRow.bytes(workload), rows));
            }
        }
        reporter.result(rows);
        return rows.stream()
                .mapToLong(row -> Objects.requireNonNullElse(row.wrong(), 0L))
                .sum();
    }

    private static CollectiveCall call(List<MemorySegment> buffers) {
        long count = buffers.getFirst().byteSize() / DataType.F32.bytes();
        return CollectiveCall.of(Collective.ALL_REDUCE, -1, count, DataType.F32, ReduceOp.SUM, buffers);
    }

    private static void push(Communicator communicator, List<CollectiveCall> keys, int depth) {
        for (int from = 0; from < keys.size(); from += depth) {
            CompletableFuture.allOf(keys.subList(from, Math.min(from + depth, keys.size())).stream()
                            .map(communicator::runAsync)
                            .toArray(CompletableFuture[]::new))
                    .join();
        }
    }

    /** The largest key's buffers stand for all. */
    private static List<String> expectation(Gradients gradients, long bytes, List<WorkloadRow> rows) {
        MemorySegment[] largest = gradients.largest().toArray(MemorySegment[]::new);
        double leastMs = CopyBound.measure(largest, largest).leastUs(2 * bytes * largest.length) / 1e3;
        WorkloadRow best = rows.stream()
                .min(Comparator.comparingDouble(WorkloadRow::timeMs))
                .orElseThrow();
        return List.of(
                "#",
                Numbers.format(
                        "# what to expect: reading and writing all gradients once by all cores takes %.1f ms here;",
                        leastMs),
                Numbers.format(
                        "# the best, %s with %d in flight, reached %.0f%% of that",
                        best.name(), best.inFlight(), 100 * leastMs / best.timeMs()));
    }
}
