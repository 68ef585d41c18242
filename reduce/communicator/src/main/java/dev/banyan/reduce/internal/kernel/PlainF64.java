package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.function.DoubleBinaryOperator;

/** Template of plain kernels for 64-bit floats. */
final class PlainF64 extends Kernel {
    private static final DoubleBinaryOperator OP = ScalarOperators.doubles(
            KernelTemplates.specOf(MethodHandles.lookup()).op());

    private final double[] result;
    private final double[] next;

    PlainF64(int blockElements) {
        result = new double[blockElements];
        next = new double[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment.copy(segments[0], JAVA_DOUBLE_UNALIGNED, offsets[0], result, 0, elements);
        for (int s = 1; s < sources; s++) {
            MemorySegment.copy(segments[s], JAVA_DOUBLE_UNALIGNED, offsets[s], next, 0, elements);
            fold(result, next, elements);
        }
        if (divisor != 1) {
            for (int i = 0; i < elements; i++) {
                result[i] /= divisor;
            }
        }
        MemorySegment.copy(result, 0, segments[sources], JAVA_DOUBLE_UNALIGNED, offsets[sources], elements);
    }

    private static void fold(double[] result, double[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = OP.applyAsDouble(result[i], next[i]);
        }
    }
}
