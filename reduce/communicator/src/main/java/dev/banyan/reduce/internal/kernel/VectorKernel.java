package dev.banyan.reduce.internal.kernel;

import static dev.banyan.reduce.internal.kernel.VectorLanes.address;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Template of the vector kernels: up to four sources a pass, straight on the buffers; the plain kernel does the
 * elements that do not fill a vector. Needs the module jdk.incubator.vector; it must not be touched where that is
 * missing.
 *
 * <p>Type and operation are constants of the copy, so that the compiler sees vectors of one kind.
 */
final class VectorKernel extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorSpecies<Object> LANES = VectorLanes.species(SPEC.type());
    private static final VectorOperators.Associative OP = VectorLanes.operator(SPEC.type(), SPEC.op());
    private static final boolean EXTREME = VectorLanes.isExtreme(SPEC.type(), SPEC.op());
    private static final Vector<Object> NAN = EXTREME ? VectorLanes.nan(SPEC.type()) : LANES.zero();
    private static final int VECTOR = LANES.vectorByteSize();

    private final Kernel rest;
    private long[] restOffsets = {};

    VectorKernel(int blockElements) {
        rest = Kernels.PLAIN.create(SPEC, blockElements);
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        int bytes = elements * SPEC.type().bytes();
        int whole = bytes - bytes % VECTOR;
        if (whole > 0) {
            combineVectors(segments, offsets, sources, whole);
            if (divisor != 1) {
                divide(address(segments[sources], offsets[sources], whole), divisor, whole);
            }
        }
        if (whole < bytes) {
            if (restOffsets.length <= sources) {
                restOffsets = new long[sources + 1];
            }
            for (int s = 0; s <= sources; s++) {
                restOffsets[s] = offsets[s] + whole;
            }
            rest.combine(
                    segments,
                    restOffsets,
                    sources,
                    (bytes - whole) / SPEC.type().bytes(),
                    divisor);
        }
    }

    private static void combineVectors(MemorySegment[] segments, long[] offsets, int sources, int bytes) {
        long target = address(segments[sources], offsets[sources], bytes);
        long first = address(segments[0], offsets[0], bytes);
        for (int s = 1; s < sources; s += 3) {
            long second = address(segments[s], offsets[s], bytes);
            switch (sources - s) {
                case 1 -> two(target, first, second, bytes);
                case 2 -> three(target, first, second, address(segments[s + 1], offsets[s + 1], bytes), bytes);
                default ->
                    four(
                            target,
                            first,
                            second,
                            address(segments[s + 1], offsets[s + 1], bytes),
                            address(segments[s + 2], offsets[s + 2], bytes),
                            bytes);
            }
            first = target;
        }
    }

    private static void two(long target, long a, long b, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            store(result(load(a + i).lanewise(OP, load(b + i))), target + i);
        }
    }

    private static void three(long target, long a, long b, long c, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            store(result(load(a + i).lanewise(OP, load(b + i)).lanewise(OP, load(c + i))), target + i);
        }
    }

    private static void four(long target, long a, long b, long c, long d, int bytes) {
        for (int i = 0; i < bytes; i += VECTOR) {
            store(
                    result(load(a + i)
                            .lanewise(OP, load(b + i))
                            .lanewise(OP, load(c + i))
                            .lanewise(OP, load(d + i))),
                    target + i);
        }
    }

    private static Vector<Object> result(Vector<Object> combined) {
        return EXTREME ? combined.blend(NAN, combined.test(VectorOperators.IS_NAN)) : combined;
    }

    private static void divide(long target, int divisor, int bytes) {
        Vector<Object> divisors = LANES.broadcast(divisor);
        for (int i = 0; i < bytes; i += VECTOR) {
            store(load(target + i).div(divisors), target + i);
        }
    }

    private static Vector<Object> load(long address) {
        return VectorLanes.load(LANES, address);
    }

    private static void store(Vector<Object> vector, long address) {
        VectorLanes.store(vector, address);
    }
}
