package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.output.OptionGroup;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of nccl-tests that say how often measured calls run and whether their results are checked. */
final class RunArguments extends OptionGroup {
    private static final int WARMUPS = 5;
    private static final int RUNS = 20;
    private static final int SHORT_RUNS = 3;
    private static final int MOST_RUNS = 1000;

    @Option(
            names = {"-n", "--iters"},
            paramLabel = "N",
            description = "Timed runs of each size (default: 20, more where they are short, fewer in the short sweep"
                    + " where they are long).")
    private @Nullable Integer runs;

    @Option(
            names = {"-w", "--warmup_iters"},
            paramLabel = "N",
            description = "Runs before the timed ones (default: 5).")
    private @Nullable Integer warmups;

    @Option(
            names = {"-c", "--check"},
            paramLabel = "N",
            description = "0 leaves out the check of every element against a 64-bit reference (default: 1).")
    private int check = 1;

    /** Returns the timed runs that the user names, or null. */
    @Nullable
    Integer runs() {
        return runs;
    }

    /** @throws picocli.CommandLine.ParameterException if a number is out of range */
    void refuseNonsense() {
        require(runs == null || runs > 0, "-n is " + runs + "; it must be at least 1");
        require(warmups == null || warmups >= 0, "-w is " + warmups + "; it must not be negative");
        require(check >= 0, "-c is " + check + "; it must not be negative");
    }

    /**
     * Returns how calls are run.
     *
     * @param isShort whether the sweep is the short one, of which no size was named
     */
    Runs runs(boolean isShort) {
        int before = warmups == null ? WARMUPS : warmups;
        Repeats repeats = runs != null
                ? Repeats.exactly(before, runs)
                : isShort
                        ? new Repeats(
                                Math.min(before, SHORT_RUNS), SHORT_RUNS, MOST_RUNS, TimeUnit.MILLISECONDS.toNanos(80))
                        : new Repeats(before, RUNS, MOST_RUNS, TimeUnit.MILLISECONDS.toNanos(10));
        return new Runs(repeats, check > 0);
    }

    /**
     * The repetitions and the check of measured calls.
     *
     * @param repeats how often
     * @param checked whether every element is checked against the reference
     */
    record Runs(Repeats repeats, boolean checked) {}
}
