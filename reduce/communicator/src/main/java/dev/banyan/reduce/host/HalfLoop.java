package dev.banyan.reduce.host;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A loop over 16-bit floats that are computed as 32-bit floats: it copies a part of all inputs to the heap, evaluates
 * an expression there, and copies the results to all outputs, part by part. Values in private memory are as vectors of
 * {@link HalfLanes} have them, since loops of both kinds share them.
 */
final class HalfLoop extends FusedLoop {
    private static final int[] PLACES = places();

    private final HalfExpression expression;
    private final int firstOutput;
    private final int endOutput;
    private final boolean wideOutput;
    /** The factor between values and their form in private memory. */
    private final float scale;
    /** True if each input is in private memory. */
    private final boolean[] wideInputs;

    HalfLoop(LoopShape shape, HalfExpression expression) {
        this.expression = expression;
        firstOutput = MARGIN + (shape.inPlace() ? 0 : shape.inputs());
        endOutput = MARGIN + shape.inputs() + shape.outputs();
        wideOutput = shape.wideOutput();
        scale = shape.op() == ReduceOp.PROD ? 1 : HalfLanes.SUM_SCALE;
        wideInputs = new boolean[shape.inputs()];
        int input = 0;
        for (char each : shape.code().toCharArray()) {
            if (each == Expression.INPUT || each == Expression.WIDE) {
                wideInputs[input++] = each == Expression.WIDE;
            }
        }
    }

    /**
     * Returns whether a type is computed by loops of this kind.
     *
     * @param op how values are combined; not AVG
     */
    static boolean computes(DataType type, ReduceOp op) {
        return type == DataType.F16 && op != ReduceOp.MIN && op != ReduceOp.MAX;
    }

    @Override
    int run(long[] addresses, int bytes, int divisor, @Nullable HalfBlock block) {
        runFrom(0, addresses, bytes, divisor, block);
        return bytes;
    }

    /**
     * Runs the loop on all but the first bytes.
     *
     * @param done their number
     */
    void runFrom(int done, long[] addresses, int bytes, int divisor, @Nullable HalfBlock block) {
        HalfBlock results = Objects.requireNonNull(block);
        int elements = bytes / Short.BYTES;
        for (int first = done / Short.BYTES; first < elements; first += HalfBlock.ELEMENTS) {
            int count = Math.min(HalfBlock.ELEMENTS, elements - first);
            read(addresses, first, count, results);
            expression.evaluate(count, divisor, results);
            if (wideOutput) {
                for (int e = 0; e < count; e++) {
                    results.lanes[PLACES[e]] = results.wide[e] / scale;
                }
            }
            for (int o = firstOutput; o < endOutput; o++) {
                if (wideOutput) {
                    long output = addresses[o] + (long) Float.BYTES * first;
                    MemorySegment.copy(results.lanes, 0, VectorLanes.MEMORY, JAVA_FLOAT_UNALIGNED, output, count);
                } else {
                    long output = addresses[o] + (long) Short.BYTES * first;
                    MemorySegment.copy(results.elements, 0, VectorLanes.MEMORY, JAVA_SHORT_UNALIGNED, output, count);
                }
            }
        }
    }

    /** Returns where each element is in private memory. */
    private static int[] places() {
        int lanes = PairLanes.FLOATS.length();
        int[] places = new int[HalfBlock.ELEMENTS];
        for (int e = 0; e < places.length; e++) {
            int pair = e / 2;
            places[e] = pair / lanes * 2 * lanes + e % 2 * lanes + pair % lanes;
        }
        return places;
    }

    private void read(long[] addresses, int first, int count, HalfBlock block) {
        for (int i = 0; i < wideInputs.length; i++) {
            if (wideInputs[i]) {
                long input = addresses[MARGIN + i] + (long) Float.BYTES * first;
                MemorySegment.copy(VectorLanes.MEMORY, JAVA_FLOAT_UNALIGNED, input, block.lanes, 0, count);
                float[] values = block.wideInputs[i];
                for (int e = 0; e < count; e++) {
                    values[e] = block.lanes[PLACES[e]] * scale;
                }
            } else {
                long input = addresses[MARGIN + i] + (long) Short.BYTES * first;
                MemorySegment.copy(VectorLanes.MEMORY, JAVA_SHORT_UNALIGNED, input, block.inputs[i], 0, count);
            }
        }
    }
}
