package dev.banyan.cli.bench.workload;

import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.output.Progress;
import dev.banyan.config.Config;
import dev.banyan.kvstore.KVStore;
import dev.banyan.kvstore.Key;
import dev.banyan.kvstore.StoreType;
import dev.banyan.kvstore.internal.overlap.BackwardPass;
import dev.banyan.kvstore.internal.overlap.Overlap;
import dev.banyan.reduce.Communicator;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Plays backward passes of a model on a store, and on those of a parameter server and of a ring beside it. */
public record OverlapBench(HostSite site, Reporter reporter) {
    private static final List<StoreType> BASELINES = List.of(StoreType.DEVICE, StoreType.RING);
    private static final int ROUNDS = 5;

    /**
     * Returns the number of wrong elements.
     *
     * @param store type of the store
     * @param computeMs time over which gradients are released
     * @param rounds timed rounds, or null for as many as are usual
     */
    public long run(Workload workload, StoreType store, double computeMs, @Nullable Integer rounds) {
        List<StoreType> types =
                Stream.concat(Stream.of(store), BASELINES.stream()).distinct().toList();
        List<StepTimes> results = new ArrayList<>();
        try (Arena arena = Arena.ofShared();
                Progress progress = reporter.progress(workload.name(), types.size())) {
            Gradients gradients = Gradients.allocate(arena, workload, site);
            for (StoreType type : types) {
                results.add(measure(workload, type, computeMs, rounds == null ? ROUNDS : rounds, gradients));
                progress.step();
                if (reporter.abandoned()) {
                    return 0;
                }
            }
        }
        reporter.lines(lines(results));
        reporter.result(results);
        return results.stream().mapToLong(StepTimes::wrong).sum();
    }

    private StepTimes measure(Workload workload, StoreType type, double computeMs, int rounds, Gradients gradients) {
        Duration compute = Duration.ofNanos(Math.round(computeMs * 1e6));
        try (Communicator communicator = Communicator.onHost(site.machine(), Config.load());
                KVStore store = KVStore.builder(communicator).type(type).open()) {
            List<Key> keys = gradients.init(store);
            long wrong = gradients.wrongAfter(() -> store.pushPullAll(keys, gradients.keys(), gradients.keys(), 0)
                    .join());
            BackwardPass pass = new BackwardPass(store, keys, gradients.keys());
            pass.play(compute);
            List<Overlap> played = IntStream.range(0, rounds)
                    .mapToObj(round -> pass.play(compute))
                    .toList();
            Overlap median = new Overlap(
                    computeMs * 1e3, medianUs(played, Overlap::communicationUs), medianUs(played, Overlap::stepUs));
            return StepTimes.of(workload, type.label(), null, null, median, wrong, rounds);
        }
    }

    private static double medianUs(List<Overlap> played, ToDoubleFunction<Overlap> figure) {
        return Measurement.median(played.stream()
                        .mapToLong(overlap -> Math.round(figure.applyAsDouble(overlap) * 1e3))
                        .toArray())
                / 1e3;
    }

    private List<String> lines(List<StepTimes> results) {
        StepTimes first = results.getFirst();
        List<String> lines = new ArrayList<>();
        lines.add(Numbers.format(
                "# workload %s: %d keys, %d bytes on each of %d devices, released over %.1f ms, the last layer first",
                first.workload(), first.keys(), first.bytes(), site.ranks(), first.computeMs()));
        lines.addAll(StepTimes.table(results));
        lines.add("#");
        for (StepTimes other : results.subList(1, results.size())) {
            double more = first.exposedMs() - other.exposedMs();
            lines.add(Numbers.format(
                    "# exposed communication of %s is %.3f ms, %.3f ms %s than that of %s (medians of %d rounds)",
                    first.kvstore(),
                    first.exposedMs(),
                    Math.abs(more),
                    more < 0 ? "less" : "more",
                    other.kvstore(),
                    first.rounds()));
        }
        return lines;
    }
}
