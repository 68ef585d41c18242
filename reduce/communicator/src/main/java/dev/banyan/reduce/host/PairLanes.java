package dev.banyan.reduce.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * What generated loops do with 16-bit floats: a vector of them is loaded as 32-bit integers, each of which holds an
 * element of even index in its lower half and the next one in its upper half. They are widened to two vectors of 32-bit
 * floats, so that nothing moves from lane to lane.
 *
 * <p>Needs the module jdk.incubator.vector; it must not be touched where that is missing.
 */
@SuppressWarnings("unchecked") // generated code knows vectors without their types of elements
final class PairLanes {
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final int UPPER = 0xffff0000;
    private static final int SIGN = 0x80000000;
    private static final int INFINITY = 0x7f800000;
    /** The sign of a 16-bit float, and its magnitude three bits below that. */
    private static final int HALF_BITS = 0x8fffe000;
    /** The ratio of a 16-bit float's value to that of its magnitude as the upper bits of a 32-bit float. */
    private static final float HALF_SCALE = 0x1p112f;
    /** Where magnitudes of 16-bit floats end; their infinity, if it were a number. */
    private static final float HALF_END = 65536;

    private PairLanes() {}

    private static IntVector load(long address) {
        return (IntVector) (Vector<?>) VectorLanes.load((VectorSpecies<Object>) (VectorSpecies<?>) INTS, address);
    }

    private static Vector<Object> of(FloatVector floats) {
        return (Vector<Object>) (Vector<?>) floats;
    }

    private static FloatVector floats(Vector<Object> vector) {
        return (FloatVector) (Vector<?>) vector;
    }

    static Vector<Object> evenBrain(long address) {
        return of(load(address).lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats());
    }

    static Vector<Object> oddBrain(long address) {
        return of(load(address).and(UPPER).reinterpretAsFloats());
    }

    /** Rounds to nearest, ties to even; a NaN stays a (quiet) NaN. The lower halves of the results are undefined. */
    static Vector<Object> roundBrain(Vector<Object> vector) {
        FloatVector values = floats(vector);
        IntVector bits = values.reinterpretAsInts();
        IntVector odd = bits.lanewise(VectorOperators.LSHR, 16).and(1);
        IntVector rounded = bits.add(odd).add(0x7fff);
        VectorMask<Integer> nan = values.test(VectorOperators.IS_NAN).cast(INTS);
        return of(rounded.blend(bits.or(0x400000), nan).and(UPPER).reinterpretAsFloats());
    }

    static Vector<Object> packBrain(Vector<Object> even, Vector<Object> odd) {
        IntVector low = floats(even).reinterpretAsInts().lanewise(VectorOperators.LSHR, 16);
        return (Vector<Object>)
                (Vector<?>) low.or(floats(odd).reinterpretAsInts().and(UPPER));
    }

    static Vector<Object> evenHalf(long address) {
        return half(load(address).lanewise(VectorOperators.LSHL, 16));
    }

    static Vector<Object> oddHalf(long address) {
        return half(load(address));
    }

    /** Widens the upper halves of integers. */
    private static Vector<Object> half(IntVector pairs) {
        IntVector bits = pairs.lanewise(VectorOperators.ASHR, 3).and(HALF_BITS);
        FloatVector values = bits.reinterpretAsFloats().mul(HALF_SCALE);
        VectorMask<Integer> special =
                values.abs().compare(VectorOperators.GE, HALF_END).cast(INTS);
        IntVector wide = values.reinterpretAsInts();
        return of(wide.lanewise(VectorOperators.OR, INFINITY, special).reinterpretAsFloats());
    }

    /**
     * Rounds to what a 16-bit float can hold: to nearest, ties to even. Sums of 16-bit floats are multiples of their
     * least value, but products and means are not.
     */
    static Vector<Object> roundHalf(Vector<Object> vector) {
        FloatVector values = floats(vector);
        IntVector bits = values.reinterpretAsInts();
        IntVector magnitude = bits.and(~SIGN);
        IntVector odd = magnitude.lanewise(VectorOperators.LSHR, 13).and(1);
        FloatVector normal = magnitude.add(odd).add(0xfff).and(~0x1fff).reinterpretAsFloats();
        // Adding 0.5 leaves multiples of 2^-24, the least 16-bit float.
        FloatVector small = magnitude.reinterpretAsFloats().add(0.5f).sub(0.5f);
        FloatVector rounded = normal.blend(small, normal.compare(VectorOperators.LT, 0x1p-14f));
        VectorMask<Float> over = rounded.compare(VectorOperators.GE, HALF_END);
        FloatVector result = rounded.blend(Float.POSITIVE_INFINITY, over);
        return of(result.reinterpretAsInts().or(bits.and(SIGN)).reinterpretAsFloats());
    }

    static Vector<Object> packHalf(Vector<Object> even, Vector<Object> odd) {
        IntVector low = narrow(floats(even)).lanewise(VectorOperators.LSHR, 16);
        return (Vector<Object>) (Vector<?>) low.or(narrow(floats(odd)));
    }

    /** Returns what 16-bit floats can hold in the upper halves of integers; the lower halves are 0. */
    private static IntVector narrow(FloatVector values) {
        IntVector sign = values.reinterpretAsInts().and(SIGN);
        FloatVector scaled = values.abs().min(HALF_END).mul(1 / HALF_SCALE);
        return scaled.reinterpretAsInts()
                .lanewise(VectorOperators.LSHL, 3)
                .and(0x7fff0000)
                .or(sign);
    }
}
