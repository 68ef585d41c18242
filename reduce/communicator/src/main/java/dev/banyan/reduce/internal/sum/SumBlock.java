package dev.banyan.reduce.internal.sum;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.HalfFloat;
import dev.banyan.reduce.internal.kernel.Kernels;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} in host memory, a block of elements at a time:
 *
 * <ol>
 *   <li>{@link #begin}, then {@link #look} at every input: it keeps the greatest code of each element. Codes of several
 *       processes combine by their maximum.
 *   <li>{@link #add} every input. The integers of several processes combine by their sums.
 *   <li>{@link #round} once, then {@link #store} to every output.
 * </ol>
 *
 * <p>{@link #sum} does all of this where one process has all inputs.
 *
 * <p>Loops run over heap arrays, which the JIT vectorises. It serves one thread at a time.
 */
public final class SumBlock {
    /** The greatest number of elements of a block. Some 50 KiB of arrays. */
    public static final int LENGTH = 1024;

    /** Adding and subtracting it rounds a double of less than 2^51 to an integer. */
    private static final double TO_INTEGER = 0x1.8p52;

    /** The bits of a double that a float does not have. */
    private static final long BELOW_FLOAT = (1L << 29) - 1;

    private final ReproducibleSum sum;
    private final DataType type;
    private final boolean isNarrow;
    private final boolean isDouble;
    /** By codes: the power of two of the definition, where integers are narrow. */
    private final double[] scales;

    /**
     * The codes, and behind them the bits of an input. They are one array, as are narrow integers and scales, since the
     * JIT vectorises no loop that writes one of several arrays of the same type.
     */
    private final int[] codes = new int[2 * LENGTH];
    /** 32-bit integers, which are exact as doubles, and behind them the elements' scales. */
    private final double[] narrow;
    /** 64-bit integers, and the results of F64; those of special elements where others are narrow. */
    private final long[] wide = new long[LENGTH];

    private final float[] values = new float[LENGTH];
    private final MemorySegment valuesAsMemory = MemorySegment.ofArray(values);
    private final short[] bits;
    private final @Nullable VectorSums vectors;
    private final long[] sources;
    private final long[] targets;

    private int elements;
    private boolean placed;
    private boolean special;

    public SumBlock(ReproducibleSum sum) {
        this.sum = sum;
        type = sum.type();
        isNarrow = sum.integers() == DataType.I32;
        isDouble = type == DataType.F64;
        narrow = new double[isNarrow ? 2 * LENGTH : 0];
        scales = new double[isNarrow ? ReproducibleSum.SPECIAL + 1 : 0];
        for (int code = 0; isNarrow && code < ReproducibleSum.SPECIAL; code++) {
            scales[code] = Math.scalb(1.0, sum.exponent(code));
        }
        vectors = vectors();
        sources = new long[sum.contributions()];
        targets = new long[sum.contributions()];
        bits = new short[type.bytes() == Short.BYTES ? LENGTH : 0];
    }

    private @Nullable VectorSums vectors() {
        if (Kernels.best() != Kernels.VECTOR) {
            return null;
        }
        if (isDouble) {
            return Integer.bitCount(sum.divisor()) == 1 ? new DoubleSums(sum) : null;
        }
        // A quotient that is rounded to a float cannot be rounded again.
        if (!isNarrow || (type != DataType.F32 && Integer.bitCount(sum.divisor()) > 1)) {
            return null;
        }
        return switch (type) {
            case BF16 -> new BrainSums(sum);
            case F16 -> new HalfSums(sum);
            default -> new FloatSums(sum);
        };
    }

    /**
     * Sums the elements of a block.
     *
     * @param inputs one for each contribution, native memory of any alignment
     * @param offset of the block in each of them, in bytes
     * @param outputs native memory that the results go to; an output may be an input at the same offset
     * @param outputOffset of the block in each of them, in bytes
     * @param blockElements how many, at most {@link #LENGTH}
     */
    public void sum(
            MemorySegment[] inputs, long offset, MemorySegment[] outputs, long outputOffset, int blockElements) {
        int done = 0;
        if (vectors != null) {
            int whole = blockElements - blockElements % vectors.lanes();
            done = vectors.sum(
                    addresses(sources, inputs, offset, whole), addresses(targets, outputs, outputOffset, whole), whole);
        }
        if (done < blockElements) {
            long bytes = (long) done * type.bytes();
            begin(blockElements - done);
            for (MemorySegment input : inputs) {
                look(input, offset + bytes);
            }
            for (MemorySegment input : inputs) {
                add(input, offset + bytes);
            }
            round();
            for (MemorySegment output : outputs) {
                store(output, outputOffset + bytes);
            }
        }
    }

    /** Rounds floats to 16 bits. */
    private void narrow() {
        if (type == DataType.BF16) {
            BrainFloat.narrow(values, bits, elements);
        } else if (type == DataType.F16) {
            HalfFloat.narrow(values, bits, elements);
        }
    }

    private long[] addresses(long[] addresses, MemorySegment[] segments, long offset, int count) {
        long[] all = addresses.length == segments.length ? addresses : new long[segments.length];
        for (int s = 0; s < segments.length; s++) {
            all[s] = VectorLanes.address(segments[s], offset, count * type.bytes());
        }
        return all;
    }

    /** Begins a block of some elements, at most {@link #LENGTH}. */
    public void begin(int blockElements) {
        elements = blockElements;
        placed = false;
        Arrays.fill(codes, 0, elements, isDouble ? 0 : 1);
        Arrays.fill(narrow, 0, isNarrow ? elements : 0, 0);
        Arrays.fill(wide, 0, elements, 0);
    }

    /**
     * Works an input into the greatest codes.
     *
     * @param input native memory of any alignment
     * @param offset of the block, in bytes
     */
    public void look(MemorySegment input, long offset) {
        if (isDouble) {
            for (int i = 0; i < elements; i++) {
                double value = input.get(JAVA_DOUBLE_UNALIGNED, offset + (long) Double.BYTES * i);
                codes[i] = Math.max(codes[i], sum.code(value));
            }
        } else if (type == DataType.F32) {
            MemorySegment.copy(input, JAVA_INT_UNALIGNED, offset, codes, LENGTH, elements);
            look(codes, elements);
        } else {
            widen(input, offset);
            MemorySegment.copy(valuesAsMemory, JAVA_INT_UNALIGNED, 0, codes, LENGTH, elements);
            look(codes, elements);
        }
    }

    private static void look(int[] codes, int elements) {
        for (int i = 0; i < elements; i++) {
            codes[i] = Math.max(codes[i], (codes[LENGTH + i] >>> 23) & ReproducibleSum.SPECIAL);
        }
    }

    /** Loads 16-bit values as floats. */
    private void widen(MemorySegment input, long offset) {
        MemorySegment.copy(input, JAVA_SHORT_UNALIGNED, offset, bits, 0, elements);
        if (type == DataType.BF16) {
            BrainFloat.widen(bits, values, elements);
        } else {
            HalfFloat.widen(bits, values, elements);
        }
    }

    /** Prepares for the greatest codes. */
    private void place() {
        placed = true;
        special = false;
        for (int i = 0; i < elements; i++) {
            special |= codes[i] == ReproducibleSum.SPECIAL;
        }
        if (isNarrow) {
            for (int i = 0; i < elements; i++) {
                narrow[LENGTH + i] = scales[codes[i]];
            }
        }
    }

    /**
     * Adds an input at which {@link #look} has looked.
     *
     * @param input native memory of any alignment
     * @param offset of the block, in bytes
     */
    public void add(MemorySegment input, long offset) {
        if (!placed) {
            place();
        }
        if (isDouble) {
            for (int i = 0; i < elements; i++) {
                wide[i] += sum.integer(input.get(JAVA_DOUBLE_UNALIGNED, offset + (long) Double.BYTES * i), codes[i]);
            }
            return;
        }
        if (type == DataType.F32) {
            MemorySegment.copy(input, JAVA_FLOAT_UNALIGNED, offset, values, 0, elements);
        } else {
            widen(input, offset);
        }
        if (isNarrow) {
            add(values, narrow, elements);
        }
        if (!isNarrow || special) {
            for (int i = 0; i < elements; i++) {
                if (!isNarrow || codes[i] == ReproducibleSum.SPECIAL) {
                    wide[i] += sum.integer(values[i], codes[i]);
                }
            }
        }
    }

    private static void add(float[] values, double[] sums, int elements) {
        for (int i = 0; i < elements; i++) {
            sums[i] += (values[i] * sums[LENGTH + i] + TO_INTEGER) - TO_INTEGER;
        }
    }

    /** Rounds the sums. */
    public void round() {
        if (isNarrow) {
            // A quotient of 31 bits and a small divisor, rounded to 53 bits, never becomes a false tie at 24 bits or
            // less.
            round(narrow, sum.divisor(), values, type != DataType.F32, elements);
            narrow();
            if (!special && type != DataType.BF16) {
                return;
            }
        }
        for (int i = 0; i < elements; i++) {
            // Subnormal results of BF16 were rounded twice.
            boolean isTiny = type == DataType.BF16 && values[i] != 0 && Math.abs(values[i]) < Float.MIN_NORMAL;
            if (!isNarrow || codes[i] == ReproducibleSum.SPECIAL || isTiny) {
                set(i, sum.result(integer(i), codes[i]));
            }
        }
    }

    /** @param again whether results are rounded once more, so that they are cut, with an odd last bit */
    private static void round(double[] sums, int divisor, float[] results, boolean again, int elements) {
        if (again) {
            for (int i = 0; i < elements; i++) {
                results[i] = cut(sums[i] / (sums[LENGTH + i] * divisor));
            }
        } else {
            for (int i = 0; i < elements; i++) {
                results[i] = (float) (sums[i] / (sums[LENGTH + i] * divisor));
            }
        }
    }

    private static float cut(double value) {
        long raw = Double.doubleToRawLongBits(value);
        return (float)
                ((raw & BELOW_FLOAT) == 0 ? value : Double.longBitsToDouble((raw & ~BELOW_FLOAT) | (BELOW_FLOAT + 1)));
    }

    private void set(int i, long result) {
        switch (type) {
            case F64 -> wide[i] = result;
            case F32 -> values[i] = Float.intBitsToFloat((int) result);
            default -> bits[i] = (short) result;
        }
    }

    private long integer(int i) {
        return isNarrow && codes[i] != ReproducibleSum.SPECIAL ? (long) narrow[i] : wide[i];
    }

    /**
     * Writes the rounded sums.
     *
     * @param output native memory of any alignment
     * @param offset of the block, in bytes
     */
    public void store(MemorySegment output, long offset) {
        switch (type) {
            case F64 -> MemorySegment.copy(wide, 0, output, JAVA_LONG_UNALIGNED, offset, elements);
            case F32 -> MemorySegment.copy(values, 0, output, JAVA_FLOAT_UNALIGNED, offset, elements);
            default -> MemorySegment.copy(bits, 0, output, JAVA_SHORT_UNALIGNED, offset, elements);
        }
    }

    /** Writes the block's codes, unsigned integers of 8 bits. */
    public void getCodes(MemorySegment target) {
        for (int i = 0; i < elements; i++) {
            target.set(JAVA_BYTE, i, (byte) codes[i]);
        }
    }

    /** Reads the block's codes. */
    public void setCodes(MemorySegment source) {
        for (int i = 0; i < elements; i++) {
            codes[i] = Byte.toUnsignedInt(source.get(JAVA_BYTE, i));
        }
        placed = false;
    }

    /** Writes the block's integers, of the type that the sum has. */
    public void getIntegers(MemorySegment target) {
        for (int i = 0; i < elements; i++) {
            if (isNarrow) {
                target.set(JAVA_INT_UNALIGNED, (long) Integer.BYTES * i, (int) integer(i));
            } else {
                target.set(JAVA_LONG_UNALIGNED, (long) Long.BYTES * i, integer(i));
            }
        }
    }

    /** Reads the block's integers. */
    public void setIntegers(MemorySegment source) {
        for (int i = 0; i < elements; i++) {
            wide[i] = isNarrow
                    ? source.get(JAVA_INT_UNALIGNED, (long) Integer.BYTES * i)
                    : source.get(JAVA_LONG_UNALIGNED, (long) Long.BYTES * i);
            if (isNarrow) {
                narrow[i] = wide[i];
            }
        }
    }
}
