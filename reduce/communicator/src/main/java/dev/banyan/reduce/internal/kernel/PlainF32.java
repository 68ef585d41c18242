package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;

/** Template of plain kernels for 32-bit floats. */
final class PlainF32 extends Kernel {
    private static final FloatOp OP = ScalarOperators.floats(
            KernelTemplates.specOf(MethodHandles.lookup()).op());

    private final float[] result;
    private final float[] next;

    PlainF32(int blockElements) {
        result = new float[blockElements];
        next = new float[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment.copy(segments[0], JAVA_FLOAT_UNALIGNED, offsets[0], result, 0, elements);
        for (int s = 1; s < sources; s++) {
            MemorySegment.copy(segments[s], JAVA_FLOAT_UNALIGNED, offsets[s], next, 0, elements);
            fold(result, next, elements);
        }
        if (divisor != 1) {
            for (int i = 0; i < elements; i++) {
                result[i] /= divisor;
            }
        }
        MemorySegment.copy(result, 0, segments[sources], JAVA_FLOAT_UNALIGNED, offsets[sources], elements);
    }

    private static void fold(float[] result, float[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = OP.apply(result[i], next[i]);
        }
    }
}
