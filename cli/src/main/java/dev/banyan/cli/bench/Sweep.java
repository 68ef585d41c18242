package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.report.Reporter;
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

    /** Heading of an algorithm's rows, where there are several algorithms or its name alone does not say which it is. */
    List<String> title(AlgorithmConfig algorithm) {
        return algorithms.size() > 1 || algorithm.trees() != null
                ? List.of("# algorithm: " + ChoiceText.name(algorithm))
                : List.of();
    }
}
