package dev.banyan.reduce.host;

import dev.banyan.reduce.type.DataType;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.nio.ByteOrder;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Template of the vector kernels: up to four sources a pass, straight on the buffers; what is left over
 * of a vector is done by the plain kernel. This is the only class that needs the module
 * jdk.incubator.vector; it must not be touched where that is missing.
 *
 * <p>Type and operation are constants of the copy, so that the compiler sees vectors of one kind.
 */
final class VectorKernel extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorSpecies<Object> LANES = lanes(SPEC.type());
    private static final VectorOperators.Associative OP = operator(SPEC);
    private static final int VECTOR = LANES.vectorByteSize();
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    private final Kernel rest;
    private long[] restOffsets = {};

    VectorKernel(int blockElements) {
        rest = Kernels.PLAIN.create(SPEC, blockElements);
    }

    @SuppressWarnings("unchecked") // what the element type is matters to no method used here
    private static VectorSpecies<Object> lanes(DataType type) {
        VectorSpecies<?> species =
                switch (type) {
                    case F32 -> FloatVector.SPECIES_PREFERRED;
                    case F64 -> DoubleVector.SPECIES_PREFERRED;
                    case I8, U8 -> ByteVector.SPECIES_PREFERRED;
                    case I32 -> IntVector.SPECIES_PREFERRED;
                    case I64 -> LongVector.SPECIES_PREFERRED;
                    case F16, BF16 -> throw new IllegalArgumentException("no vectors of " + type);
                };
        return (VectorSpecies<Object>) species;
    }

    private static VectorOperators.Associative operator(KernelSpec spec) {
        boolean unsigned = spec.type() == DataType.U8;
        return switch (spec.op()) {
            case SUM, AVG -> VectorOperators.ADD;
            case PROD -> VectorOperators.MUL;
            case MIN -> unsigned ? VectorOperators.UMIN : VectorOperators.MIN;
            case MAX -> unsigned ? VectorOperators.UMAX : VectorOperators.MAX;
        };
    }

    @Override
    void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        int bytes = elements * SPEC.type().bytes();
        int whole = bytes - bytes % VECTOR;
        if (whole > 0) {
            combineVectors(segments, offsets, sources, whole);
            if (divisor != 1) {
                divide(segments[sources], offsets[sources], divisor, whole);
            }
        }
        if (whole < bytes) {
            if (restOffsets.length <= sources) {
                restOffsets = new long[sources + 1];
            }
            for (int s = 0; s <= sources; s++) {
                restOffsets[s] = offsets[s] + whole;
            }
            rest.combine(segments, restOffsets, sources, (bytes - whole) / SPEC.type().bytes(), divisor);
        }
    }

    private static void combineVectors(MemorySegment[] segments, long[] offsets, int sources, int bytes) {
        MemorySegment target = segments[sources];
        long at = offsets[sources];
        MemorySegment first = segments[0];
        long firstAt = offsets[0];
        for (int s = 1; s < sources; s += 3) {
            MemorySegment second = segments[s];
            long secondAt = offsets[s];
            switch (sources - s) {
                case 1 -> two(target, at, first, firstAt, second, secondAt, bytes);
                case 2 -> three(
                        target, at, first, firstAt, second, secondAt, segments[s + 1], offsets[s + 1], bytes);
                default -> four(
                        target,
                        at,
                        first,
                        firstAt,
                        second,
                        secondAt,
                        segments[s + 1],
                        offsets[s + 1],
                        segments[s + 2],
                        offsets[s + 2],
                        bytes);
            }
            first = target;
            firstAt = at;
        }
    }

    private static void two(
            MemorySegment target, long at, MemorySegment a, long aAt, MemorySegment b, long bAt, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            load(a, aAt + i).lanewise(OP, load(b, bAt + i)).intoMemorySegment(target, at + i, ORDER);
        }
    }

    private static void three(
            MemorySegment target,
            long at,
            MemorySegment a,
            long aAt,
            MemorySegment b,
            long bAt,
            MemorySegment c,
            long cAt,
            int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            load(a, aAt + i)
                    .lanewise(OP, load(b, bAt + i))
                    .lanewise(OP, load(c, cAt + i))
                    .intoMemorySegment(target, at + i, ORDER);
        }
    }

    private static void four(
            MemorySegment target,
            long at,
            MemorySegment a,
            long aAt,
            MemorySegment b,
            long bAt,
            MemorySegment c,
            long cAt,
            MemorySegment d,
            long dAt,
            int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            load(a, aAt + i)
                    .lanewise(OP, load(b, bAt + i))
                    .lanewise(OP, load(c, cAt + i))
                    .lanewise(OP, load(d, dAt + i))
                    .intoMemorySegment(target, at + i, ORDER);
        }
    }

    private static void divide(MemorySegment target, long at, int divisor, int bytes) {
        Vector<Object> divisors = LANES.broadcast(divisor);
        for (int i = 0; i < bytes; i += VECTOR) {
            load(target, at + i).div(divisors).intoMemorySegment(target, at + i, ORDER);
        }
    }

    private static Vector<Object> load(MemorySegment segment, long at) {
        return LANES.fromMemorySegment(segment, at, ORDER);
    }
}
