package dev.banyan.simulate.internal.rate;

/** Simulated time is counted in whole ticks of one picosecond, so that simultaneous events have equal times. */
public final class Clock {
    public static final double TICKS_PER_US = 1e6;
    /** Bytes per tick of one GB/s. */
    public static final double BYTES_PER_TICK = 1e-3;

    /** The longest time in ticks; the sum of two such times does not overflow. */
    private static final double LONGEST = 0x1p61;
    /** In ticks: an end that exceeds a tick by no more than this rounding error falls on that tick. */
    private static final double ROUNDING = 1e-4;

    private Clock() {}

    public static long ofUs(double us) {
        return later(0, us * TICKS_PER_US);
    }

    public static double toUs(long ticks) {
        return ticks / TICKS_PER_US;
    }

    /** Returns the first tick that is at least the given number of ticks after a time, apart from rounding errors. */
    public static long later(long time, double ticks) {
        if (!(time + ticks < LONGEST)) {
            throw new IllegalArgumentException(
                    "the simulated time passes 26 days; check the sizes and bandwidths that it was given");
        }
        return time + (long) Math.ceil(ticks - ROUNDING);
    }
}
