package dev.banyan.reduce.internal.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;

/**
 * Sums floating-point numbers without rounding in between and rounds once, so that no order of the sums changes a bit
 * of them: a reduction of BANYAN_REPRODUCIBLE=exact. It works on one block of elements at a time:
 *
 * <ol>
 *   <li>{@link #begin}, then {@link #look} at every input: it keeps the greatest exponent of each element, as a code of
 *       8 bits. Codes of several processes combine by their maximum.
 *   <li>{@link #add} every input: it is converted to fixed point relative to that exponent and added to 64-bit
 *       integers, {@link #words} of them for each element. Those of several processes combine by their sums.
 *   <li>{@link #round} once, then {@link #store} to every output.
 * </ol>
 *
 * <p><b>Result.</b> Let n be the number of contributions, g = ceil(log2 n), and M the greatest magnitude of an
 * element's contributions. Where their exponents lie within a window (of binades: 38-g for F32, 54-g for BF16, 56-2g
 * for F64, all that there are for F16) the result is the exact sum or mean, rounded to nearest, ties to even, as IEEE
 * 754 rounds. Else what lies below the window is rounded to its end first, and the error is at most half a unit in the
 * last place of the result and
 *
 * <ul>
 *   <li>(n-1) 2<sup>g-62</sup> M for F32 and BF16,
 *   <li>(n-1) 2<sup>2g-108</sup> M for F64,
 * </ul>
 *
 * divided by n for a mean. Nothing overflows in between. An infinity gives that infinity; a NaN, or infinities of both
 * signs, give the NaN of the type, which is positive, quiet and without payload. A sum of negative zeros alone is
 * negative zero; any other sum that is zero is positive zero.
 *
 * <p><b>Source.</b> The greatest exponent first, then sums that are exact relative to it: J. Demmel and H. D. Nguyen,
 * "Fast Reproducible Floating-Point Summation", ARITH 2013, <a
 * href="https://doi.org/10.1109/ARITH.2013.9">doi:10.1109/ARITH.2013.9</a>. Here the sums are integers.
 *
 * <p>It has temporary memory of its own and serves one thread at a time.
 */
public abstract sealed class ExactSum permits NarrowExactSum, DoubleExactSum {
    /** The greatest number of elements of a block. Some 60 KiB of arrays, with all inputs of 8 ranks. */
    public static final int BLOCK = 1024;

    /** The code of an element that has an infinity or a NaN among its contributions. */
    static final int SPECIAL = 255;

    /** The codes, and behind {@link #BLOCK} what a subclass keeps there. */
    final int[] codes = new int[2 * BLOCK];

    int elements;
    boolean special;
    private boolean placed;

    ExactSum() {}

    /**
     * Returns sums of a type.
     *
     * @param type a floating-point type
     * @param contributions how many numbers each sum has, 1 to 2<sup>24</sup>
     * @param mean whether the sums are divided by that number before they are rounded
     */
    public static ExactSum of(DataType type, int contributions, boolean mean) {
        if (!type.isFloating() || contributions < 1 || contributions > 1 << 24) {
            throw new IllegalArgumentException("exact sums of " + contributions + " numbers of " + type
                    + "; give floats, and 1 to " + (1 << 24) + " of them");
        }
        int guard = Integer.SIZE - Integer.numberOfLeadingZeros(contributions - 1);
        int divisor = mean ? contributions : 1;
        return type == DataType.F64 ? new DoubleExactSum(guard, divisor) : new NarrowExactSum(type, guard, divisor);
    }

    /** Returns whether a reduction can depend on the order of its sums, and is one of these. */
    public static boolean covers(DataType type, ReduceOp op) {
        return type.isFloating() && (op == ReduceOp.SUM || op == ReduceOp.AVG);
    }

    /** Begins a block. */
    public final void begin(int blockElements) {
        elements = blockElements;
        placed = false;
        clear();
    }

    /**
     * Works an input into the greatest exponents.
     *
     * @param input native memory of any alignment
     * @param offset of the block, in bytes
     */
    public abstract void look(MemorySegment input, long offset);

    /**
     * Adds an input at which {@link #look} has looked.
     *
     * @param input native memory of any alignment
     * @param offset of the block, in bytes
     */
    public final void add(MemorySegment input, long offset) {
        if (!placed) {
            placed = true;
            special = false;
            for (int i = 0; i < elements; i++) {
                special |= codes[i] == SPECIAL;
            }
            place();
        }
        addPlaced(input, offset);
    }

    /** Rounds the sums. */
    public abstract void round();

    /**
     * Writes the rounded sums.
     *
     * @param output native memory of any alignment
     * @param offset of the block, in bytes
     */
    public abstract void store(MemorySegment output, long offset);

    /** Returns the number of 64-bit integers for each element. */
    public abstract int words();

    /** Writes the block's codes, unsigned integers of 8 bits. */
    public final void getCodes(MemorySegment target) {
        for (int i = 0; i < elements; i++) {
            target.set(JAVA_BYTE, i, (byte) codes[i]);
        }
    }

    /** Reads the block's codes. */
    public final void setCodes(MemorySegment source) {
        for (int i = 0; i < elements; i++) {
            codes[i] = Byte.toUnsignedInt(source.get(JAVA_BYTE, i));
        }
    }

    /** Writes the block's sums, {@link #words} for each element, aligned to 8 bytes. */
    public abstract void getWords(MemorySegment target);

    /** Reads the block's sums. */
    public abstract void setWords(MemorySegment source);

    abstract void clear();

    /** Prepares for the exponents that the codes have. */
    abstract void place();

    abstract void addPlaced(MemorySegment input, long offset);

    /** Returns -1 if the value is not zero, else 0, without a branch. */
    static int maskOf(int value) {
        return (value | -value) >> 31;
    }
}
