package dev.banyan.cli.bench.call;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * The repetitions of a call: {@code least} times at least, then until {@code enoughNanos} have gone by or {@code most}
 * runs are done.
 *
 * @param warmups runs that are not timed, before the others
 */
public record Repeats(int warmups, int least, int most, long enoughNanos) {
    private static final Repeats SHORT = new Repeats(3, 5, 200, TimeUnit.MILLISECONDS.toNanos(20));

    /** Median time of a call in us, over at least five runs and 20 ms where it is short. */
    public static double medianUs(Runnable call) {
        return Measurement.median(SHORT.time(call)) / 1e3;
    }

    /** A given number of runs. */
    public static Repeats exactly(int warmups, int runs) {
        return new Repeats(warmups, runs, runs, 0);
    }

    /** Runs the call and returns the time of each timed run in ns. */
    public long[] time(Runnable call) {
        return time(call, () -> {});
    }

    /**
     * Runs the call and returns the time of each timed run in ns.
     *
     * @param between runs after each run, also of those that are not timed
     */
    public long[] time(Runnable call, Runnable between) {
        for (int i = 0; i < warmups; i++) {
            call.run();
            between.run();
        }
        long[] nanos = new long[most];
        int runs = 0;
        for (long sum = 0; runs < least || (runs < most && sum < enoughNanos); runs++) {
            long start = System.nanoTime();
            call.run();
            nanos[runs] = System.nanoTime() - start;
            sum += nanos[runs];
            between.run();
        }
        return Arrays.copyOf(nanos, runs);
    }
}
