package dev.banyan.cli.bench.call;

import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LongSummaryStatistics;
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

    /** @param compiledMillis what the JVM had compiled for before it */
    private record Round(long startNanos, long compiledMillis, long leastNanos) {}

    private final Deque<Round> last = new ArrayDeque<>(WINDOW);

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
        long compiledMillis = compiledMillis();
        long start = System.nanoTime();
        long now = start;
        do {
            long before = now;
            call.run();
            now = System.nanoTime();
            least = Math.min(least, now - before);
        } while (now - start < ROUND_NANOS);
        if (last.size() == WINDOW) {
            last.removeFirst();
        }
        last.addLast(new Round(start, compiledMillis, least));
    }

    private boolean isSteady() {
        LongSummaryStatistics nanos = last.stream().mapToLong(Round::leastNanos).summaryStatistics();
        return nanos.getCount() == WINDOW && nanos.getMax() < SPREAD * nanos.getMin() && !compiles();
    }

    private boolean compiles() {
        Round first = last.getFirst();
        long compiling = TimeUnit.MILLISECONDS.toNanos(compiledMillis() - first.compiledMillis());
        return compiling > MOST_COMPILING * (System.nanoTime() - first.startNanos());
    }

    private static long compiledMillis() {
        return COMPILER == null ? 0 : COMPILER.getTotalCompilationTime();
    }
}
