package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Measurement;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.internal.algorithm.Packings;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Numbers;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.LongUnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs a sweep of Banyan's algorithms and of the NCCL of this machine on the same buffers: at each size, a call of each
 * algorithm and one of NCCL in turns, so that what slows the machine down slows both down.
 */
final class NcclTurns {
    private final RankSite site;
    private final RunArguments.Runs runs;
    private final Reporter reporter;
    /** The bound of all schedules on the links alone, in GB/s algbw. */
    private final double boundGbs;

    /** @param call the kind of call that is measured */
    NcclTurns(RankSite site, Call call, RunArguments.Runs runs, Reporter reporter) {
        this.site = site;
        this.runs = runs;
        this.reporter = reporter;
        Bound bound = Packings.best(Network.of(site.machine()))
                .packing(call.collective(), call.root())
                .bound();
        boundGbs = bound.gbs().doubleValue();
    }

    /** A row of an algorithm and the row of NCCL that was measured in turns with it. */
    private record Pair(Row ours, Row nccl) {
        /** Returns the ratio of NCCL's time to Banyan's, out of place. */
        double ratio() {
            return nccl.outOfPlace().medianUs() / ours.outOfPlace().medianUs();
        }

        long wrong() {
            return ours.wrong() + nccl.wrong();
        }
    }

    /** Banyan's and NCCL's times of the same calls. */
    private record Turns(Measurement ours, Measurement nccl) {}

    /** Returns the number of wrong elements. */
    long run(Sweep sweep) {
        Call call = sweep.call();
        long bytes = call.size(sweep.largestCount());
        FreeMemory.require(
                Math.multiplyExact(2L * call.ranks(), bytes),
                "give a smaller largest size with -e, or fewer devices with --devices");
        Sweep ours = sweep.withoutNccl();
        List<Pair> pairs;
        try (Arena arena = Arena.ofShared()) {
            CallMeter meter = new CallMeter(
                    call,
                    new DeviceCalls(site.allocate(arena, bytes), site.allocate(arena, bytes), 0),
                    CallMeter.reference(call, bytes, runs.checked()),
                    LongUnaryOperator.identity());
            sweep.compile(runs.repeats(), site, meter.calls());
            reporter.lines(header(call));
            try (Communicator nccl = site.open(AlgorithmConfig.of(AlgorithmChoice.NCCL))) {
                pairs = ours.measure(
                        reporter,
                        this::line,
                        site::open,
                        (algorithm, communicator) -> count -> measure(meter, algorithm, communicator, nccl, count));
            }
        }
        if (pairs.isEmpty()) {
            return 0;
        }
        long wrong = pairs.stream().mapToLong(Pair::wrong).sum();
        reporter.lines(List.of("# Out of bounds values : "
                + (!runs.checked() ? "not checked" : wrong + (wrong == 0 ? " OK" : " FAILED"))));
        reporter.lines(conclusions(pairs));
        List<Row> rows = pairs.stream()
                .flatMap(pair -> Stream.of(pair.ours(), pair.nccl()))
                .toList();
        return reporter.sweep(site.machine().name(), rows, boundGbs);
    }

    private Pair measure(CallMeter meter, AlgorithmConfig algorithm, Communicator ours, Communicator nccl, long count) {
        Call call = meter.call();
        Turns apart =
                turns(meter, ours, nccl, count, meter::wrongApart, meter.calls().apart(call, count, 0));
        Turns together = turns(
                meter, ours, nccl, count, meter::wrongTogether, meter.calls().together(call, count, 0));
        return new Pair(
                new Row(algorithm, call, count, apart.ours(), together.ours(), null),
                new Row(AlgorithmConfig.of(AlgorithmChoice.NCCL), call, count, apart.nccl(), together.nccl(), null));
    }

    /** Checks a call of both, and measures it in turns: ours, then NCCL's. */
    private Turns turns(
            CallMeter meter,
            Communicator ours,
            Communicator nccl,
            long count,
            BiFunction<Communicator, Long, @Nullable Long> check,
            CollectiveCall call) {
        Long oursWrong = check.apply(ours, count);
        Long ncclWrong = check.apply(nccl, count);
        ours.prepare(call);
        nccl.prepare(call);
        Repeats repeats = runs.repeats();
        long[] ncclNanos = new long[repeats.most()];
        int[] done = {-repeats.warmups()};
        long[] oursNanos = repeats.time(() -> ours.run(call), () -> {
            long start = System.nanoTime();
            nccl.run(call);
            if (done[0] >= 0) {
                ncclNanos[done[0]] = System.nanoTime() - start;
            }
            done[0]++;
        });
        return new Turns(
                Measurement.of(meter.call(), count, oursNanos, oursWrong),
                Measurement.of(meter.call(), count, Arrays.copyOf(ncclNanos, oursNanos.length), ncclWrong));
    }

    private List<String> header(Call call) {
        return List.of(
                "# " + call.collective().label()
                        + ", times out of place (median of runs in turns), algbw; ratio: how many"
                        + " times as long NCCL takes; bound: of all schedules on the links",
                Numbers.format(
                        "# %10s  %12s  %10s  %10s  %6s  %8s  %8s  %8s  %6s",
                        "size", "algorithm", "ours", "nccl", "ratio", "ours", "nccl", "bound", "#wrong"),
                Numbers.format(
                        "# %10s  %12s  %10s  %10s  %6s  %8s  %8s  %8s  %6s",
                        "(B)", "", "(us)", "(us)", "", "(GB/s)", "(GB/s)", "(GB/s)", ""));
    }

    private String line(Pair pair) {
        Row ours = pair.ours();
        return Numbers.format(
                "%12d  %12s  %10.2f  %10.2f  %6.2f  %8.2f  %8.2f  %8.2f  %6s",
                ours.bytes(),
                ChoiceText.algorithm(ours.algorithm()),
                ours.outOfPlace().medianUs(),
                pair.nccl().outOfPlace().medianUs(),
                pair.ratio(),
                gbs(ours),
                gbs(pair.nccl()),
                boundGbs,
                ours.outOfPlace().wrong() == null ? "N/A" : Long.toString(pair.wrong()));
    }

    private static double gbs(Row row) {
        return row.bytes() / row.outOfPlace().medianUs() / 1e3;
    }

    /** Says at which sizes NCCL is faster than each algorithm. */
    private static List<String> conclusions(List<Pair> pairs) {
        List<String> lines = new ArrayList<>();
        pairs.stream().map(pair -> pair.ours().algorithm()).distinct().forEach(algorithm -> {
            List<String> slower = pairs.stream()
                    .filter(pair -> pair.ours().algorithm().equals(algorithm) && pair.ratio() < 1)
                    .map(pair -> new ByteSize(pair.ours().bytes()).label())
                    .toList();
            lines.add("# " + ChoiceText.name(algorithm)
                    + (slower.isEmpty()
                            ? ": faster than NCCL or equal at every size here"
                            : ": slower than NCCL at " + String.join(", ", slower)));
        });
        return lines;
    }
}
