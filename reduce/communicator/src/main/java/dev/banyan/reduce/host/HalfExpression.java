package dev.banyan.reduce.host;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

/**
 * An expression over 16-bit floats. {@link HalfLoopGenerator} makes the implementations: loops over scalars, of which
 * the JIT makes vectors with the processor's own conversions, which jdk.incubator.vector does not have. The JIT does
 * that where a loop reads native memory and writes an array of the heap, since the two cannot overlap.
 */
abstract class HalfExpression {
    /**
     * Evaluates the expression into one array of the block.
     *
     * @param addresses see {@link FusedLoop#run}
     * @param first the first element
     * @param count number of elements, at most {@link HalfBlock#ELEMENTS}
     * @param divisor what means are divided by
     */
    abstract void evaluate(long[] addresses, long first, int count, int divisor, HalfBlock block);

    /** Returns an element of an input; called by generated code. */
    static float load(long address, int index) {
        return Float.float16ToFloat(VectorLanes.MEMORY.get(JAVA_SHORT_UNALIGNED, address + (long) Short.BYTES * index));
    }

    /** Returns an element of an input that another loop has written as floats; called by generated code. */
    static float loadWide(long address, int index) {
        return VectorLanes.MEMORY.get(JAVA_FLOAT_UNALIGNED, address + (long) Float.BYTES * index);
    }

    /** Rounds a value to the elements' type; called by generated code. */
    static float round(float value) {
        return Float.float16ToFloat(Float.floatToFloat16(value));
    }
}
