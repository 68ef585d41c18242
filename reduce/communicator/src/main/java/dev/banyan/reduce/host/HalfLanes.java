package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * 16-bit floats, as 32-bit floats in the loop. Vectors have no conversion of their own: this one is of integer
 * operations and gives the bits of {@link HalfFloat}, except for the payload of a NaN.
 */
record HalfLanes() implements LoopLanes {
    private static final VectorSpecies<Object> FLOATS = VectorLanes.species(DataType.F32);
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> SHORTS = LoopLanes.narrow(INTS, short.class, Short.SIZE);

    /** The sign and the other bits of an element that was shifted left by 13. */
    private static final int FIELDS = 0x8fffe000;
    /** The difference of the two types' exponent biases, as a factor. */
    private static final float BIAS = 0x1p112f;

    private static final int INFINITY = 0x7f800000;
    /** The bit of an element that makes a NaN of an infinity. */
    private static final int QUIET = 0x200;

    private static final int SIGN = 0x80000000;
    /** The bits of 65536, which stands for the infinity of 16 bits, and with a fraction for a NaN. */
    private static final int BEYOND = 0x47800000;
    /** The bits of the smallest normal number of 16 bits. */
    private static final int SMALLEST_NORMAL = 0x38800000;
    /** A float whose last bit has the value of the last bit of a subnormal number of 16 bits. */
    private static final int SUBNORMAL_BASE = 0x3f000000;

    @Override
    public VectorSpecies<Object> species() {
        return FLOATS;
    }

    @Override
    public int widening() {
        return 2;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.untyped(
                widen((IntVector) VectorLanes.load(SHORTS, address).convertShape(VectorOperators.S2I, INTS, 0)));
    }

    @Override
    public Vector<Object> round(Vector<Object> values) {
        return VectorLanes.untyped(widen(narrow(values)));
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        return VectorLanes.untyped(narrow(values).convertShape(VectorOperators.I2S, SHORTS, 0));
    }

    /** Converts elements in the lower halves of integers whose upper halves repeat the sign. */
    private static FloatVector widen(IntVector elements) {
        IntVector scaled = elements.lanewise(VectorOperators.LSHL, 13)
                .and(FIELDS)
                .reinterpretAsFloats()
                .mul(BIAS)
                .reinterpretAsInts();
        return scaled.lanewise(VectorOperators.OR, INFINITY, scaled.and(~SIGN).compare(VectorOperators.GE, BEYOND))
                .reinterpretAsFloats();
    }

    /**
     * Rounds to nearest, ties to even, and returns the elements in the lower halves of integers whose upper halves
     * repeat the sign in the bits that {@link #widen} reads.
     */
    private static IntVector narrow(Vector<Object> values) {
        IntVector bits = values.reinterpretAsInts();
        IntVector magnitude = bits.and(~SIGN);
        IntVector sign = bits.lanewise(VectorOperators.ASHR, 16).and(0xffff8000);
        IntVector odd = magnitude.lanewise(VectorOperators.LSHR, 13).and(1);
        IntVector normal =
                magnitude.min(BEYOND).add(odd).add(0xfff - (112 << 23)).lanewise(VectorOperators.LSHR, 13);
        IntVector subnormal = magnitude
                .reinterpretAsFloats()
                .add(Float.intBitsToFloat(SUBNORMAL_BASE))
                .reinterpretAsInts()
                .sub(SUBNORMAL_BASE);
        return normal.blend(subnormal, magnitude.lt(SMALLEST_NORMAL))
                .lanewise(VectorOperators.OR, QUIET, magnitude.compare(VectorOperators.GT, INFINITY))
                .or(sign);
    }
}
