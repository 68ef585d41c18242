package dev.banyan.reduce.internal.kernel;

import static dev.banyan.reduce.internal.kernel.VectorLanes.address;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Template of the vector kernels for 16-bit brain floats. It reads vectors of 32-bit integers, each of which holds an
 * element of even index in its lower half and the next one in its upper half, and collects both as 32-bit floats in
 * arrays of their own, so that nothing moves from lane to lane. Loops are short: the JIT gives up on long ones. The
 * plain kernel does the elements that do not fill a vector.
 *
 * <p>Needs the module jdk.incubator.vector; it must not be touched where that is missing.
 */
final class BrainKernel extends Kernel {
    private static final KernelSpec SPEC = KernelTemplates.specOf(MethodHandles.lookup());
    private static final VectorOperators.Associative OP = VectorLanes.operator(SPEC.type(), SPEC.op());
    private static final VectorSpecies<Integer> PAIRS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final int LANES = PAIRS.length();
    private static final int UPPER = 0xffff0000;
    private static final boolean EXTREME = VectorLanes.isExtreme(SPEC.type(), SPEC.op());

    private final float[] even;
    private final float[] odd;
    private final Kernel rest;
    private long[] restOffsets = {};

    BrainKernel(int blockElements) {
        even = new float[blockElements / 2];
        odd = new float[blockElements / 2];
        rest = Kernels.PLAIN.create(SPEC, blockElements);
    }

    @Override
    public void combine(MemorySegment[] segments, long[] offsets, int sources, int elements, int divisor) {
        int pairs = elements / 2 / LANES * LANES;
        if (pairs > 0) {
            int bytes = 4 * pairs;
            int next;
            if (sources % 2 == 0) {
                two(address(segments[0], offsets[0], bytes), address(segments[1], offsets[1], bytes), even, odd, pairs);
                next = 2;
            } else {
                one(address(segments[0], offsets[0], bytes), even, odd, pairs);
                next = 1;
            }
            for (; next < sources; next += 2) {
                foldTwo(
                        address(segments[next], offsets[next], bytes),
                        address(segments[next + 1], offsets[next + 1], bytes),
                        even,
                        odd,
                        pairs);
            }
            if (divisor != 1) {
                divide(even, divisor, pairs);
                divide(odd, divisor, pairs);
            }
            round(even, pairs);
            round(odd, pairs);
            pack(even, odd, address(segments[sources], offsets[sources], bytes), pairs);
        }
        if (2 * pairs < elements) {
            if (restOffsets.length <= sources) {
                restOffsets = new long[sources + 1];
            }
            for (int s = 0; s <= sources; s++) {
                restOffsets[s] = offsets[s] + 4L * pairs;
            }
            rest.combine(segments, restOffsets, sources, elements - 2 * pairs, divisor);
        }
    }

    private static void one(long a, float[] even, float[] odd, int pairs) {
        for (int i = 0; i < pairs; i += LANES) {
            IntVector x = load(a + 4L * i);
            low(x).intoArray(even, i);
            high(x).intoArray(odd, i);
        }
    }

    private static void two(long a, long b, float[] even, float[] odd, int pairs) {
        for (int i = 0; i < pairs; i += LANES) {
            IntVector x = load(a + 4L * i);
            IntVector y = load(b + 4L * i);
            low(x).lanewise(OP, low(y)).intoArray(even, i);
            high(x).lanewise(OP, high(y)).intoArray(odd, i);
        }
    }

    private static void foldTwo(long a, long b, float[] even, float[] odd, int pairs) {
        for (int i = 0; i < pairs; i += LANES) {
            IntVector x = load(a + 4L * i);
            IntVector y = load(b + 4L * i);
            FloatVector.fromArray(FLOATS, even, i)
                    .lanewise(OP, low(x))
                    .lanewise(OP, low(y))
                    .intoArray(even, i);
            FloatVector.fromArray(FLOATS, odd, i)
                    .lanewise(OP, high(x))
                    .lanewise(OP, high(y))
                    .intoArray(odd, i);
        }
    }

    private static void divide(float[] values, int divisor, int pairs) {
        for (int i = 0; i < pairs; i++) {
            values[i] /= divisor;
        }
    }

    /** Rounds to nearest, ties to even, as {@link BrainFloat#narrow}; leaves the lower halves undefined. */
    private static void round(float[] values, int pairs) {
        for (int i = 0; i < pairs; i += LANES) {
            FloatVector value = FloatVector.fromArray(FLOATS, values, i);
            IntVector bits = value.reinterpretAsInts();
            IntVector odd = bits.lanewise(VectorOperators.LSHR, 16).and(1);
            VectorMask<Integer> nan = value.test(VectorOperators.IS_NAN).cast(PAIRS);
            bits.add(odd)
                    .add(0x7fff)
                    .blend(EXTREME ? bits.broadcast(Integer.MAX_VALUE) : bits.or(0x400000), nan)
                    .reinterpretAsFloats()
                    .intoArray(values, i);
        }
    }

    private static void pack(float[] even, float[] odd, long target, int pairs) {
        for (int i = 0; i < pairs; i += LANES) {
            IntVector low = FloatVector.fromArray(FLOATS, even, i).reinterpretAsInts();
            IntVector high = FloatVector.fromArray(FLOATS, odd, i).reinterpretAsInts();
            store(low.lanewise(VectorOperators.LSHR, 16).or(high.and(UPPER)), target + 4L * i);
        }
    }

    private static FloatVector low(IntVector pairs) {
        return pairs.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats();
    }

    private static FloatVector high(IntVector pairs) {
        return pairs.and(UPPER).reinterpretAsFloats();
    }

    private static IntVector load(long address) {
        return (IntVector) VectorLanes.load(PAIRS, address);
    }

    private static void store(IntVector vector, long address) {
        VectorLanes.store(VectorLanes.untyped(vector), address);
    }
}
