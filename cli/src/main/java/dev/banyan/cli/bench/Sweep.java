package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.call.WarmUp;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.study.text.ChoiceText;
import java.util.List;
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
        return new Sweep(
                call,
                counts,
                algorithms.stream().filter(algorithm -> !isNccl(algorithm)).toList());
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

    /** Returns the heading of an algorithm's rows; empty if there is one algorithm in its usual variant. */
    List<String> title(AlgorithmConfig algorithm) {
        return algorithms.size() > 1 || !algorithm.equals(AlgorithmConfig.of(algorithm.algorithm()))
                ? List.of("# algorithm: " + ChoiceText.name(algorithm))
                : List.of();
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
