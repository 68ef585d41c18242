package dev.banyan.simulate;

/** Simulated time: whole ticks of a picosecond, so that what should happen at once does. */
final class Clock {
    static final double TICKS_PER_US = 1e6;
    /** Bytes per tick of one GB/s. */
    static final double BYTES_PER_TICK = 1e-3;

    /** Two of them still are no overflow. */
    private static final double LONGEST = 0x1p61;
    /** In ticks; rounding must not move an end that falls on a tick to the next one. */
    private static final double ROUNDING = 1e-4;

    private Clock() {}

    static long ofUs(double us) {
        return later(0, us * TICKS_PER_US);
    }

    static double toUs(long ticks) {
        return ticks / TICKS_PER_US;
    }

    /** The first tick not before so many ticks after a time, but for rounding. */
    static long later(long time, double ticks) {
        if (!(time + ticks < LONGEST)) {
            throw new IllegalArgumentException(
                    "the simulated time passes 26 days; check the sizes and bandwidths that it was given");
        }
        return time + (long) Math.ceil(ticks - ROUNDING);
    }
}
