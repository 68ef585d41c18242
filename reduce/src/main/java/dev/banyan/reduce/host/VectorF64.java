package dev.banyan.reduce.host;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import java.util.function.DoubleBinaryOperator;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Template of vector kernels for 64-bit floats: up to four sources a pass. */
final class VectorF64 extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorOperators.Associative OP = VectorKernels.lanewise(SPEC);
    private static final DoubleBinaryOperator TAIL = ScalarOperators.doubles(SPEC.op());
    private static final VectorSpecies<Double> LANES = DoubleVector.SPECIES_PREFERRED;
    private static final int VECTOR = LANES.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    VectorF64(int blockElements) {}

    @Override
    void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment target = segments[sources];
        long at = offsets[sources];
        int bytes = elements * Double.BYTES;
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
            DoubleVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Double.BYTES) {
            double value = a.get(JAVA_DOUBLE_UNALIGNED, aOffset + i);
            value = TAIL.applyAsDouble(value, b.get(JAVA_DOUBLE_UNALIGNED, bOffset + i));
            target.set(JAVA_DOUBLE_UNALIGNED, targetOffset + i, value);
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
            DoubleVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Double.BYTES) {
            double value = a.get(JAVA_DOUBLE_UNALIGNED, aOffset + i);
            value = TAIL.applyAsDouble(value, b.get(JAVA_DOUBLE_UNALIGNED, bOffset + i));
            value = TAIL.applyAsDouble(value, c.get(JAVA_DOUBLE_UNALIGNED, cOffset + i));
            target.set(JAVA_DOUBLE_UNALIGNED, targetOffset + i, value);
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
            DoubleVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .lanewise(OP, DoubleVector.fromMemorySegment(LANES, d, dOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Double.BYTES) {
            double value = a.get(JAVA_DOUBLE_UNALIGNED, aOffset + i);
            value = TAIL.applyAsDouble(value, b.get(JAVA_DOUBLE_UNALIGNED, bOffset + i));
            value = TAIL.applyAsDouble(value, c.get(JAVA_DOUBLE_UNALIGNED, cOffset + i));
            value = TAIL.applyAsDouble(value, d.get(JAVA_DOUBLE_UNALIGNED, dOffset + i));
            target.set(JAVA_DOUBLE_UNALIGNED, targetOffset + i, value);
        }
    }

    private static void divide(MemorySegment target, long targetOffset, int divisor, int bytes) {
        int i = 0;
        for (int end = bytes - bytes % VECTOR; i < end; i += VECTOR) {
            DoubleVector.fromMemorySegment(LANES, target, targetOffset + i, ORDER)
                    .div(divisor)
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Double.BYTES) {
            double mean = target.get(JAVA_DOUBLE_UNALIGNED, targetOffset + i) / divisor;
            target.set(JAVA_DOUBLE_UNALIGNED, targetOffset + i, mean);
        }
    }
}
