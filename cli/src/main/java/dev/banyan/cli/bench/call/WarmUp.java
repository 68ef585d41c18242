package dev.banyan.cli.bench.call;

import java.util.concurrent.TimeUnit;

/**
 * Runs a call until its time is steady, so that a measurement does not show how the JVM compiles what it runs. The time
 * is steady if the least times of five rounds in a row differ by less than 5%. A round is one call, or as many as take
 * 10 ms; the warm-up ends after 400 ms in any case, and the call that then runs.
 */
public final class WarmUp {
    private static final long ROUND_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
    private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(400);
    private static final int WINDOW = 5;
    /** The JVM compiles what it has called some thousand times; until then the time is steady as well. */
    private static final int COMPILED_CALLS = 5_000;

    private static final long COMPILE_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final double SPREAD = 1.05;

    private final long[] last = new long[WINDOW];
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
        return greatest < SPREAD * least;
    }
}
