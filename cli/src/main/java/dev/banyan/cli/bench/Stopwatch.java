package dev.banyan.cli.bench;

import java.util.concurrent.TimeUnit;

/** Measures one call briefly. */
public final class Stopwatch {
    private static final Repeats SHORT = new Repeats(3, 5, 200, TimeUnit.MILLISECONDS.toNanos(20));

    private Stopwatch() {}

    /** Median time of a call in us, over at least five runs and 20 ms where it is short. */
    public static double medianUs(Runnable call) {
        return Measurement.median(SHORT.time(call)) / 1e3;
    }
}
