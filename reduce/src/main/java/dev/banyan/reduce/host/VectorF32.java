package dev.banyan.reduce.host;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Template of vector kernels for 32-bit floats: up to four sources a pass. */
final class VectorF32 extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorOperators.Associative OP = VectorKernels.lanewise(SPEC);
    private static final FloatOp TAIL = ScalarOperators.floats(SPEC.op());
    private static final VectorSpecies<Float> LANES = FloatVector.SPECIES_PREFERRED;
    private static final int VECTOR = LANES.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    VectorF32(int blockElements) {}

    @Override
    void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment target = segments[sources];
        long at = offsets[sources];
        int bytes = elements * Float.BYTES;
        MemorySegment first = segments[0];
        long firstOffset = offsets[0];
        for (int s = 1; s < sources; ) {
            switch (sources - s) {
                case 1 -> two(target, at, first, firstOffset, segments[s], offsets[s], bytes);
                case 2 -> three(
                        target,
                        at,
                        first,
                        firstOffset,
                        segments[s],
                        offsets[s],
                        segments[s + 1],
                        offsets[s + 1],
                        bytes);
                default -> four(
                        target,
                        at,
                        first,
                        firstOffset,
                        segments[s],
                        offsets[s],
                        segments[s + 1],
                        offsets[s + 1],
                        segments[s + 2],
                        offsets[s + 2],
                        bytes);
            }
            s += 3;
            first = target;
            firstOffset = at;
        }
        if (divisor != 1) {
            divide(target, at, divisor, bytes);
        }
    }

    private static void two(
            MemorySegment target,
            long targetOffset,
            MemorySegment a,
            long aOffset,
            MemorySegment b,
            long bOffset,
            int bytes) {
        int i = 0;
        for (int end = bytes - bytes % VECTOR; i < end; i += VECTOR) {
            FloatVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Float.BYTES) {
            float value = a.get(JAVA_FLOAT_UNALIGNED, aOffset + i);
            value = TAIL.apply(value, b.get(JAVA_FLOAT_UNALIGNED, bOffset + i));
            target.set(JAVA_FLOAT_UNALIGNED, targetOffset + i, value);
        }
    }

    private static void three(
            MemorySegment target,
            long targetOffset,
            MemorySegment a,
            long aOffset,
            MemorySegment b,
            long bOffset,
            MemorySegment c,
            long cOffset,
            int bytes) {
        int i = 0;
        for (int end = bytes - bytes % VECTOR; i < end; i += VECTOR) {
            FloatVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Float.BYTES) {
            float value = a.get(JAVA_FLOAT_UNALIGNED, aOffset + i);
            value = TAIL.apply(value, b.get(JAVA_FLOAT_UNALIGNED, bOffset + i));
            value = TAIL.apply(value, c.get(JAVA_FLOAT_UNALIGNED, cOffset + i));
            target.set(JAVA_FLOAT_UNALIGNED, targetOffset + i, value);
        }
    }

    private static void four(
            MemorySegment target,
            long targetOffset,
            MemorySegment a,
            long aOffset,
            MemorySegment b,
            long bOffset,
            MemorySegment c,
            long cOffset,
            MemorySegment d,
            long dOffset,
            int bytes) {
        int i = 0;
        for (int end = bytes - bytes % VECTOR; i < end; i += VECTOR) {
            FloatVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .lanewise(OP, FloatVector.fromMemorySegment(LANES, d, dOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Float.BYTES) {
            float value = a.get(JAVA_FLOAT_UNALIGNED, aOffset + i);
            value = TAIL.apply(value, b.get(JAVA_FLOAT_UNALIGNED, bOffset + i));
            value = TAIL.apply(value, c.get(JAVA_FLOAT_UNALIGNED, cOffset + i));
            value = TAIL.apply(value, d.get(JAVA_FLOAT_UNALIGNED, dOffset + i));
            target.set(JAVA_FLOAT_UNALIGNED, targetOffset + i, value);
        }
    }

    private static void divide(MemorySegment target, long targetOffset, int divisor, int bytes) {
        int i = 0;
        for (int end = bytes - bytes % VECTOR; i < end; i += VECTOR) {
            FloatVector.fromMemorySegment(LANES, target, targetOffset + i, ORDER)
                    .div(divisor)
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Float.BYTES) {
            float mean = target.get(JAVA_FLOAT_UNALIGNED, targetOffset + i) / divisor;
            target.set(JAVA_FLOAT_UNALIGNED, targetOffset + i, mean);
        }
    }
}
