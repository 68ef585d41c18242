package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.util.function.IntBinaryOperator;

/**
 * Template of plain kernels for 8-bit integers, signed or not. The two differ in min and max
 * only.
 */
final class PlainI8 extends Kernel {
    private static final IntBinaryOperator OP = ScalarOperators.bytes(KernelTemplates.specOf(MethodHandles.lookup()));

    private final byte[] result;
    private final byte[] next;

    PlainI8(int blockElements) {
        result = new byte[blockElements];
        next = new byte[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment.copy(segments[0], JAVA_BYTE, offsets[0], result, 0, elements);
        for (int s = 1; s < sources; s++) {
            MemorySegment.copy(segments[s], JAVA_BYTE, offsets[s], next, 0, elements);
            fold(result, next, elements);
        }
        MemorySegment.copy(result, 0, segments[sources], JAVA_BYTE, offsets[sources], elements);
    }

    private static void fold(byte[] result, byte[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = (byte) OP.applyAsInt(result[i], next[i]);
        }
    }
}
