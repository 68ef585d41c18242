package dev.banyan.reduce.host;

/**
 * An expression over 16-bit floats. {@link HalfLoopGenerator} makes the implementations: loops over scalars, of which
 * the JIT makes vectors with the processor's own conversions, which jdk.incubator.vector does not have. The JIT does
 * that reliably where a loop reads and writes arrays of the heap only.
 */
abstract class HalfExpression {
    /**
     * Evaluates the expression over inputs of the block into one array of it.
     *
     * @param count number of elements, at most {@link HalfBlock#ELEMENTS}
     * @param divisor what means are divided by
     */
    abstract void evaluate(int count, int divisor, HalfBlock block);

    /** Rounds a value to the elements' type; called by generated code. */
    static float round(float value) {
        return Float.float16ToFloat(Float.floatToFloat16(value));
    }
}
