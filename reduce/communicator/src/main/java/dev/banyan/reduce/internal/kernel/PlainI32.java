package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.function.IntBinaryOperator;

/** Template of plain kernels for 32-bit integers. */
final class PlainI32 extends Kernel {
    private static final IntBinaryOperator OP =
            ScalarOperators.ints(KernelTemplates.specOf(MethodHandles.lookup()).op());

    private final int[] result;
    private final int[] next;

    PlainI32(int blockElements) {
        result = new int[blockElements];
        next = new int[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment.copy(segments[0], JAVA_INT_UNALIGNED, offsets[0], result, 0, elements);
        for (int s = 1; s < sources; s++) {
            MemorySegment.copy(segments[s], JAVA_INT_UNALIGNED, offsets[s], next, 0, elements);
            fold(result, next, elements);
        }
        MemorySegment.copy(result, 0, segments[sources], JAVA_INT_UNALIGNED, offsets[sources], elements);
    }

    private static void fold(int[] result, int[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = OP.applyAsInt(result[i], next[i]);
        }
    }
}
