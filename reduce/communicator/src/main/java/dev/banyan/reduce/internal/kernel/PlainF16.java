package dev.banyan.reduce.internal.kernel;

import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;

/**
 * Template of plain kernels for both 16-bit float types. A step widens its sources to 32-bit, combines
 * (and divides) there, and rounds once, to nearest, ties to even. Loops run over heap arrays: the JIT
 * does not vectorise 16-bit floats on memory segments.
 */
final class PlainF16 extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final boolean BRAIN = SPEC.type() == DataType.BF16;
    private static final FloatOp OP = ScalarOperators.floats(SPEC.op());

    private final short[] bits;
    private final float[] result;
    private final float[] next;

    PlainF16(int blockElements) {
        bits = new short[blockElements];
        result = new float[blockElements];
        next = new float[blockElements];
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        load(segments[0], offsets[0], result, elements);
        for (int s = 1; s < sources; s++) {
            load(segments[s], offsets[s], next, elements);
            fold(result, next, elements);
        }
        if (divisor != 1) {
            for (int i = 0; i < elements; i++) {
                result[i] /= divisor;
            }
        }
        if (BRAIN) {
            BrainFloat.narrow(result, bits, elements);
        } else {
            HalfFloat.narrow(result, bits, elements);
        }
        MemorySegment.copy(bits, 0, segments[sources], JAVA_SHORT_UNALIGNED, offsets[sources], elements);
    }

    private void load(MemorySegment source, long offset, float[] target, int elements) {
        MemorySegment.copy(source, JAVA_SHORT_UNALIGNED, offset, bits, 0, elements);
        if (BRAIN) {
            BrainFloat.widen(bits, target, elements);
        } else {
            HalfFloat.widen(bits, target, elements);
        }
    }

    private static void fold(float[] result, float[] next, int elements) {
        for (int i = 0; i < elements; i++) {
            result[i] = OP.apply(result[i], next[i]);
        }
    }
}
