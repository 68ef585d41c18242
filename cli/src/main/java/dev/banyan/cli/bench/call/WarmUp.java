package dev.banyan.cli.bench.call;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs a call until its time is steady, so that a measurement does not show how the JVM compiles what it runs. The time
 * is steady if the least times of five rounds in a row differ by less than 5%, and the JVM has compiled for less than a
 * tenth of them: its compiler takes a core from the call. A round is one call, or as many as take 10 ms; the warm-up
 * ends after a second in any case, and the call that then runs.
 */
public final class WarmUp {
    private static final long ROUND_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int WINDOW = 5;
    private static final double MOST_COMPILING = 0.1;
    /** Null where the JVM has no compiler. */
    private static final @Nullable CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();
    /** The JVM compiles what it has called some thousand times; until then the time is steady as well. */
    private static final int COMPILED_CALLS = 5_000;

    private static final long COMPILE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final double SPREAD = 1.05;

    private final long[] last = new long[WINDOW];
    private final long[] begun = new long[WINDOW];
    private final long[] compiledBefore = new long[WINDOW];
    private int rounds;

    private WarmUp() {}

    public static void untilSteady(Runnable call) {
        WarmUp warmUp = new WarmUp();
        long start = System.nanoTime();
        do {
            warmUp.round(call);
        } while (!warmUp.isSteady() && System.nanoTime() - start < MOST_NANOS);
    }

    /**
     * Runs a call until the JVM has compiled it, but no longer than the share of a second.
     *
     * @param shares number of calls that share the second
     */
    public static void untilCompiled(Runnable call, int shares) {
        long start = System.nanoTime();
        for (int i = 0; i < COMPILED_CALLS && System.nanoTime() - start < COMPILE_NANOS / shares; i++) {
            call.run();
        }
    }

    private void round(Runnable call) {
        long least = Long.MAX_VALUE;
        long start = System.nanoTime();
        begun[rounds % WINDOW] = start;
        compiledBefore[rounds % WINDOW] = compilingMillis();
        long now = start;
        do {
            long before = now;
            call.run();
            now = System.nanoTime();
            least = Math.min(least, now - before);
        } while (now - start < ROUND_NANOS);
        last[rounds++ % WINDOW] = least;
    }

    private boolean isSteady() {
        if (rounds < WINDOW) {
            return false;
        }
        long least = Long.MAX_VALUE;
        long greatest = 0;
        for (long nanos : last) {
            least = Math.min(least, nanos);
            greatest = Math.max(greatest, nanos);
        }
        return greatest < SPREAD * least && !compiles();
    }

    private boolean compiles() {
        int first = rounds % WINDOW;
        long compiling = TimeUnit.MILLISECONDS.toNanos(compilingMillis() - compiledBefore[first]);
        return compiling > MOST_COMPILING * (System.nanoTime() - begun[first]);
    }

    private static long compilingMillis() {
        return COMPILER == null ? 0 : COMPILER.getTotalCompilationTime();
    }
}
