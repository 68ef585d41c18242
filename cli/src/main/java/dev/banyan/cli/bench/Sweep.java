package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.schedule.plan.AlgorithmChoice;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * The calls and sizes to be measured or predicted.
 *
 * @param call the kind of call
 * @param counts element counts, as the collective counts them, ascending
 * @param algorithms what carries the calls out, one after another
 */
record Sweep(Call call, List<Long> counts, AlgorithmList algorithms) {
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

    /** Returns the sweep without an algorithm. */
    Sweep without(AlgorithmChoice algorithm) {
        return new Sweep(
                call,
                counts,
                new AlgorithmList(
                        algorithms.choices().stream()
                                .filter(choice -> choice != algorithm)
                                .toList(),
                        algorithms.rings()));
    }

    /** Returns the number of rows. */
    int rows() {
        return algorithms.choices().size() * counts.size();
    }

    long largestCount() {
        return counts.getLast();
    }

    /** Heading of an algorithm's rows, where there are several algorithms. */
    List<String> title(AlgorithmChoice algorithm) {
        return algorithms.choices().size() > 1 ? List.of("# algorithm: " + algorithm.label()) : List.of();
    }
}
