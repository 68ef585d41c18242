package dev.banyan.cli.bench;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.Progress;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * All-reduces a model's gradients in place, key by key in the order of keys, with a bounded number of
 * calls in flight before it waits for all of them.
 */
final class WorkloadBench {
    private static final int FEW_IN_FLIGHT = 50;

    private final RankSite site;
    private final Reporter reporter;

    /** @param site the ranks and their memory */
    WorkloadBench(RankSite site, Reporter reporter) {
        this.site = site;
        this.reporter = reporter;
    }

    /**
     * One algorithm at one depth, as JSON has it.
     *
     * @param keys number of keys
     * @param bytes bytes of all keys of one rank
     * @param inFlight calls in flight before a wait
     * @param timeMs median time of one round over all keys in ms
     * @param algbwGBs bytes over time in GB/s
     * @param wrong wrong elements of all ranks
     * @param rounds timed rounds
     */
    record Result(
            String workload,
            int keys,
            long bytes,
            int inFlight,
            String algorithm,
            double timeMs,
            double algbwGBs,
            long wrong,
            int rounds) {}

    /**
     * Returns the number of wrong elements.
     *
     * @param rounds timed rounds, or null for as many as fit in half a second, at least 3
     */
    long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        Repeats repeats = rounds == null
                ? new Repeats(1, 3, 100, TimeUnit.MILLISECONDS.toNanos(500))
                : Repeats.exactly(1, rounds);
        int ranks = site.ranks();
        long bytes = workload.totalElements() * DataType.F32.bytes();
        int[] depths = IntStream.of(1, FEW_IN_FLIGHT, workload.keys())
                .map(depth -> Math.min(depth, workload.keys()))
                .distinct()
                .toArray();
        List<Result> results = new ArrayList<>();
        long steps = (long) depths.length * algorithms.choices().size();
        try (Arena arena = Arena.ofShared();
                Progress progress = reporter.progress(workload.name(), steps)) {
            Gradients gradients = Gradients.allocate(arena, workload, site);
            List<CollectiveCall> calls =
                    gradients.keys().stream().map(WorkloadBench::call).toList();
            reporter.lines(List.of(
                    "# workload " + workload.name() + ": " + workload.keys() + " keys, " + bytes + " bytes on each of "
                            + ranks + " devices, in place",
                    heading("algorithm", "in flight", "time", "algbw", "#wrong"),
                    heading("", "(keys)", "(ms)", "(GB/s)", "")));
            for (AlgorithmChoice algorithm : algorithms.choices()) {
                try (Communicator communicator = site.open(algorithm)) {
                    for (int depth : depths) {
                        Runnable round = () -> push(communicator, calls, depth);
                        long wrong = gradients.wrongAfter(round);
                        long[] nanos = repeats.time(round);
                        double timeMs = Measurement.median(nanos) / 1e6;
                        Result result = new Result(
                                workload.name(),
                                workload.keys(),
                                bytes,
                                depth,
                                algorithm.label(),
                                timeMs,
                                bytes / timeMs / 1e6,
                                wrong,
                                nanos.length);
                        results.add(result);
                        progress.step();
                        progress.print(() -> reporter.lines(List.of(line(result))));
                        if (reporter.abandoned()) {
                            return 0;
                        }
                    }
                }
            }
            if (gradients.areOfHost()) {
                progress.print(() -> reporter.lines(expectation(gradients, bytes, results)));
            }
        }
        reporter.result(results);
        return results.stream().mapToLong(Result::wrong).sum();
    }

    private static CollectiveCall call(List<MemorySegment> buffers) {
        long count = buffers.getFirst().byteSize() / DataType.F32.bytes();
        return CollectiveCall.inPlace(Collective.ALL_REDUCE, -1, count, DataType.F32, ReduceOp.SUM, buffers);
    }

    private static void push(Communicator communicator, List<CollectiveCall> keys, int depth) {
        for (int from = 0; from < keys.size(); from += depth) {
            CompletableFuture.allOf(keys.subList(from, Math.min(from + depth, keys.size())).stream()
                            .map(communicator::runAsync)
                            .toArray(CompletableFuture[]::new))
                    .join();
        }
    }

    private static String heading(String algorithm, String inFlight, String time, String algbw, String wrong) {
        return Numbers.format("# %12s  %9s  %10s  %7s  %6s", algorithm, inFlight, time, algbw, wrong);
    }

    private static String line(Result result) {
        return Numbers.format(
                "  %12s  %9d  %10.3f  %7.2f  %6d",
                result.algorithm, result.inFlight, result.timeMs, result.algbwGBs, result.wrong);
    }

    /** The largest key's buffers stand for all. */
    private static List<String> expectation(Gradients gradients, long bytes, List<Result> results) {
        MemorySegment[] largest = gradients.largest().toArray(MemorySegment[]::new);
        double leastMs = CopyBound.measure(largest, largest).leastUs(2 * bytes * largest.length) / 1e3;
        Result best =
                results.stream().min(Comparator.comparingDouble(Result::timeMs)).orElseThrow();
        return List.of(
                "#",
                Numbers.format(
                        "# what to expect: reading and writing all gradients once by all cores takes %.1f ms here;",
                        leastMs),
                Numbers.format(
                        "# the best, %s with %d in flight, reached %.0f%% of that",
                        best.algorithm, best.inFlight, 100 * leastMs / best.timeMs));
    }
}
