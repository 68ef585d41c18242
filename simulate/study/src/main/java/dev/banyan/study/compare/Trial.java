package dev.banyan.study.compare;

import dev.banyan.config.Config;
import dev.banyan.study.machine.ChosenMachine;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A contender on a machine.
 *
 * @param name what was tried
 * @param figures what it comes to, or null where it can't be built
 * @param refusal why it can't be built, or null
 * @param generationMs time to build it, from the machine's description on, in ms
 */
record Trial(
        String name, @Nullable WayFigures figures, @Nullable String refusal, double generationMs) {
    private static final int MOST_RUNS = 20;
    private static final int LEAST_RUNS = 3;
    private static final long LEAST_RUNS_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(4);
    private static final long RUNS_LIMIT_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Builds it a few times, and takes the least time. */
    static Trial timeQuickly(Contender contender, ChosenMachine chosen) {
        return of(contender, chosen, LEAST_RUNS);
    }

    /** Builds it again and again for a moment, and takes the least time: that of code that has become warm. */
    static Trial warm(Contender contender, ChosenMachine chosen) {
        return of(contender, chosen, MOST_RUNS);
    }

    private static Trial of(Contender contender, ChosenMachine chosen, int mostRuns) {
        Config settings = Contender.settings();
        return contender
                .refusal(chosen)
                .map(why -> new Trial(contender.label(), null, why, 0))
                .orElseGet(() -> of(contender.label(), () -> contender.build(chosen, settings), mostRuns));
    }

    /** The same of what has no name of its own. */
    static Trial warm(String name, Supplier<Supplier<WayFigures>> builder) {
        return of(name, builder, MOST_RUNS);
    }

    private static Trial of(String name, Supplier<Supplier<WayFigures>> builder, int mostRuns) {
        long begin = System.nanoTime();
        Supplier<WayFigures> built = builder.get();
        long end = System.nanoTime();
        long least = end - begin;
        for (int run = 1;
                run < mostRuns && end - begin < (run < LEAST_RUNS ? LEAST_RUNS_LIMIT_NANOS : RUNS_LIMIT_NANOS);
                run++) {
            long start = end;
            built = builder.get();
            end = System.nanoTime();
            least = Math.min(least, end - start);
        }
        return new Trial(name, built.get(), null, least / 1e6);
    }
}
