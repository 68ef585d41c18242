package dev.banyan.cli.bench;

import java.util.Arrays;

/**
 * How often a call is repeated: {@code least} times at least, then until {@code enoughNanos} have gone by
 * or {@code most} runs are done.
 *
 * @param warmups runs that are not timed, before the others
 */
record Repeats(int warmups, int least, int most, long enoughNanos) {
    /** A given number of runs. */
    static Repeats exactly(int warmups, int runs) {
        return new Repeats(warmups, runs, runs, 0);
    }

    /** Runs the call and returns the time of each timed run in ns. */
    long[] time(Runnable call) {
        for (int i = 0; i < warmups; i++) {
            call.run();
        }
        long[] nanos = new long[most];
        int runs = 0;
        for (long sum = 0; runs < least || (runs < most && sum < enoughNanos); runs++) {
            long start = System.nanoTime();
            call.run();
            nanos[runs] = System.nanoTime() - start;
            sum += nanos[runs];
        }
        return Arrays.copyOf(nanos, runs);
    }
}
