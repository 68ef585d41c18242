package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.function.LongBinaryOperator;

/** Template of plain kernels for 64-bit integers. */
final class PlainI64 extends Kernel {
    private static final LongBinaryOperator OP =
            ScalarOperators.longs(KernelTemplates.specOf(MethodHandles.lookup()).op());

    private final long[] result;
    private final long[] next;

    PlainI64(int blockElements) {
        result = new long[blockElements];
        next = new long[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment.copy(segments[0], JAVA_LONG_UNALIGNED, offsets[0], result, 0, elements);
        for (int s = 1; s < sources; s++) {
            MemorySegment.copy(segments[s], JAVA_LONG_UNALIGNED, offsets[s], next, 0, elements);
            fold(result, next, elements);
        }
        MemorySegment.copy(result, 0, segments[sources], JAVA_LONG_UNALIGNED, offsets[sources], elements);
    }

    private static void fold(long[] result, long[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = OP.applyAsLong(result[i], next[i]);
        }
    }
}
