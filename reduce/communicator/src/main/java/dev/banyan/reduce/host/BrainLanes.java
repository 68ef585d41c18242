package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** 16-bit brain floats, the upper halves of 32-bit floats. */
record BrainLanes() implements LoopLanes {
    private static final VectorSpecies<Object> FLOATS = VectorLanes.species(DataType.F32);
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> SHORTS = LoopLanes.narrow(INTS, short.class, Short.SIZE);
    private static final int UPPER = 0xffff0000;
    private static final int INFINITY = 0x7f800000;
    private static final int QUIET = 0x400000;

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
        IntVector elements =
                (IntVector) VectorLanes.load(SHORTS, address).convertShape(VectorOperators.ZERO_EXTEND_S2I, INTS, 0);
        return VectorLanes.untyped(elements.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats());
    }

    @Override
    public Vector<Object> round(Vector<Object> values) {
        return VectorLanes.untyped(rounded(values).and(UPPER).reinterpretAsFloats());
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        return VectorLanes.untyped(
                rounded(values).lanewise(VectorOperators.LSHR, 16).convertShape(VectorOperators.I2S, SHORTS, 0));
    }

    /** Rounds to nearest, ties to even, as {@link BrainFloat#narrow}; leaves the lower halves undefined. */
    private static IntVector rounded(Vector<Object> values) {
        IntVector bits = values.reinterpretAsInts();
        IntVector odd = bits.lanewise(VectorOperators.LSHR, 16).and(1);
        return bits.add(odd)
                .add(0x7fff)
                .blend(bits.or(QUIET), bits.and(Integer.MAX_VALUE).compare(VectorOperators.GT, INFINITY));
    }
}
