package dev.banyan.reduce.internal.loop;

/**
 * One pass over arrays: it evaluates an expression over its inputs, a vector at a time, and writes the result to all
 * its outputs. An output may be one of the inputs. A loop has no state and serves any number of threads.
 */
public abstract class FusedLoop {
    /** The greatest number of inputs, and of outputs. */
    public static final int MOST_OPERANDS = 8;

    /**
     * The index of the first address in the array that a loop gets, and the number of entries behind the last one: a
     * thread writes addresses for every block, and two cache lines around them must not hold what others read.
     */
    public static final int MARGIN = 16;

    /** The length in bytes of which a loop takes multiples only: that of the longest vectors. */
    public static final int UNIT = 64;

    /** The greatest {@link LoopLanes#widening}. */
    public static final int MOST_WIDENING = 2;

    /**
     * Runs the loop.
     *
     * @param addresses from {@link #MARGIN} on the native addresses of the inputs and of the outputs, in the order of
     *     the loop's {@link LoopShape}
     * @param bytes length of each of them, a multiple of {@link #UNIT}
     * @param divisor what the shape's mean divides by; ignored without one
     */
    public abstract void run(long[] addresses, int bytes, int divisor);

    /** Returns a new array for the addresses of any loop. */
    public static long[] newAddresses() {
        return new long[MARGIN + 2 * MOST_OPERANDS + MARGIN];
    }
}
