package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.call.WarmUp;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.report.Rows;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.ChoiceText;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;

/**
 * The calls and sizes to be measured or predicted.
 *
 * @param call the kind of call
 * @param counts element counts, as the collective counts them, ascending
 * @param algorithms what carries the calls out, one after another
 */
record Sweep(Call call, List<Long> counts, List<AlgorithmConfig> algorithms) {
    /** Runs sweeps one after another, and returns the number of wrong elements. */
    static long runAll(List<Sweep> sweeps, ToLongFunction<Sweep> bench, Reporter reporter) {
        long wrong = 0;
        for (Sweep sweep : sweeps) {
            if (sweeps.size() > 1) {
                reporter.lines(List.of("#", "# " + sweep.call.elementAndOp()));
            }
            wrong += bench.applyAsLong(sweep);
            if (reporter.abandoned()) {
                break;
            }
        }
        return wrong;
    }

    /** Returns the sweep without NCCL. */
    Sweep withoutNccl() {
        return new Sweep(call, counts, withoutNccl(algorithms));
    }

    /** Returns algorithms without NCCL. */
    static List<AlgorithmConfig> withoutNccl(List<AlgorithmConfig> algorithms) {
        return algorithms.stream().filter(algorithm -> !isNccl(algorithm)).toList();
    }

    /** Returns whether NCCL is among the algorithms. */
    boolean hasNccl() {
        return hasNccl(algorithms);
    }

    /** Returns whether NCCL is among algorithms. */
    static boolean hasNccl(List<AlgorithmConfig> algorithms) {
        return algorithms.stream().anyMatch(Sweep::isNccl);
    }

    private static boolean isNccl(AlgorithmConfig algorithm) {
        return algorithm.algorithm() == AlgorithmChoice.NCCL;
    }

    /** Returns the number of rows. */
    int rows() {
        return algorithms.size() * counts.size();
    }

    long largestCount() {
        return counts.getLast();
    }

    /** Returns the heading of an algorithm's rows. */
    static String title(AlgorithmConfig algorithm) {
        return "# algorithm: " + ChoiceText.name(algorithm);
    }

    /**
     * Makes a row of each algorithm at each size, and prints it at once. Returns no rows if nobody reads any more.
     *
     * @param line prints a row
     * @param open opens the communicator of an algorithm
     * @param maker makes the rows of an algorithm by its communicator
     */
    <R> List<R> measure(
            Reporter reporter,
            Function<R, String> line,
            Function<AlgorithmConfig, Communicator> open,
            BiFunction<AlgorithmConfig, Communicator, LongFunction<R>> maker) {
        try (Rows<R> table = reporter.rows("bench", rows(), line)) {
            for (AlgorithmConfig algorithm : algorithms) {
                table.title(title(algorithm));
                try (Communicator communicator = open.apply(algorithm)) {
                    LongFunction<R> row = maker.apply(algorithm, communicator);
                    for (long count : counts) {
                        if (table.isLast(row.apply(count))) {
                            return List.of();
                        }
                    }
                }
            }
            return table.all();
        }
    }

    /** Runs each algorithm at the smallest size until the JVM has compiled what all share, if runs are warmed up. */
    void compile(Repeats repeats, RankSite site, DeviceCalls calls) {
        if (repeats.warmups() == 0) {
            return;
        }
        CollectiveCall smallest = calls.apart(call, counts.getFirst(), 0);
        for (AlgorithmConfig algorithm : algorithms) {
            try (Communicator communicator = site.open(algorithm)) {
                communicator.prepare(smallest);
                WarmUp.untilCompiled(() -> communicator.run(smallest), algorithms.size());
            }
        }
    }
}
