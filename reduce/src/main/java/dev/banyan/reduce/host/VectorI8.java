package dev.banyan.reduce.host;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import java.util.function.IntBinaryOperator;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Template of vector kernels for 8-bit integers, signed or not: up to four sources a pass. */
final class VectorI8 extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorOperators.Associative OP = VectorKernels.lanewise(SPEC);
    private static final IntBinaryOperator TAIL = ScalarOperators.bytes(SPEC);
    private static final VectorSpecies<Byte> LANES = ByteVector.SPECIES_PREFERRED;
    private static final int VECTOR = LANES.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    VectorI8(int blockElements) {}

    @Override
    void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        MemorySegment target = segments[sources];
        long at = offsets[sources];
        int bytes = elements;
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
            ByteVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Byte.BYTES) {
            byte value = a.get(JAVA_BYTE, aOffset + i);
            value = (byte) TAIL.applyAsInt(value, b.get(JAVA_BYTE, bOffset + i));
            target.set(JAVA_BYTE, targetOffset + i, value);
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
            ByteVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Byte.BYTES) {
            byte value = a.get(JAVA_BYTE, aOffset + i);
            value = (byte) TAIL.applyAsInt(value, b.get(JAVA_BYTE, bOffset + i));
            value = (byte) TAIL.applyAsInt(value, c.get(JAVA_BYTE, cOffset + i));
            target.set(JAVA_BYTE, targetOffset + i, value);
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
            ByteVector.fromMemorySegment(LANES, a, aOffset + i, ORDER)
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, b, bOffset + i, ORDER))
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, c, cOffset + i, ORDER))
                    .lanewise(OP, ByteVector.fromMemorySegment(LANES, d, dOffset + i, ORDER))
                    .intoMemorySegment(target, targetOffset + i, ORDER);
        }
        for (; i < bytes; i += Byte.BYTES) {
            byte value = a.get(JAVA_BYTE, aOffset + i);
            value = (byte) TAIL.applyAsInt(value, b.get(JAVA_BYTE, bOffset + i));
            value = (byte) TAIL.applyAsInt(value, c.get(JAVA_BYTE, cOffset + i));
            value = (byte) TAIL.applyAsInt(value, d.get(JAVA_BYTE, dOffset + i));
            target.set(JAVA_BYTE, targetOffset + i, value);
        }
    }
}
