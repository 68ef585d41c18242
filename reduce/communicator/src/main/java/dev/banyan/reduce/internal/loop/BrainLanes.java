package dev.banyan.reduce.internal.loop;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * 16-bit brain floats, which are the upper halves of 32-bit floats and are computed as these. A vector of integers
 * holds pairs of elements: those in the lower halves are the first part of a value, those in the upper halves the
 * second one, so that nothing moves from lane to lane.
 */
record BrainLanes() implements LoopLanes {
    private static final VectorSpecies<Object> FLOATS = VectorLanes.species(DataType.F32);
    private static final VectorSpecies<Object> INTS = VectorLanes.species(DataType.I32);
    private static final IntVector UPPER = VectorLanes.ints(0xffff0000);
    private static final IntVector ONE = VectorLanes.ints(1);
    private static final IntVector BELOW_HALF = VectorLanes.ints(0x7fff);
    private static final IntVector MAGNITUDE = VectorLanes.ints(Integer.MAX_VALUE);
    private static final IntVector INFINITY = VectorLanes.ints(0x7f800000);
    private static final IntVector QUIET = VectorLanes.ints(0x400000);

    @Override
    public VectorSpecies<Object> species() {
        return FLOATS;
    }

    @Override
    public VectorSpecies<Object> elements() {
        return INTS;
    }

    @Override
    public int widening() {
        return 2;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(INTS, address);
    }

    @Override
    public Vector<Object> lower(Vector<Object> elements) {
        IntVector pairs = (IntVector) (Vector<?>) elements;
        return VectorLanes.untyped(
                pairs.lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats());
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        IntVector pairs = (IntVector) (Vector<?>) elements;
        return VectorLanes.untyped(pairs.and(UPPER).reinterpretAsFloats());
    }

    /** Rounds to nearest, ties to even, as {@link BrainFloat#narrow}. */
    @Override
    public Vector<Object> round(Vector<Object> values) {
        IntVector bits = values.reinterpretAsInts();
        IntVector odd = bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(ONE);
        return VectorLanes.untyped(bits.add(odd)
                .add(BELOW_HALF)
                .blend(bits.or(QUIET), bits.and(MAGNITUDE).compare(VectorOperators.GT, INFINITY))
                .and(UPPER)
                .reinterpretAsFloats());
    }

    @Override
    public Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        return VectorLanes.untyped(lower.reinterpretAsInts()
                .lanewise(VectorOperators.LSHR, Short.SIZE)
                .or(upper.reinterpretAsInts()));
    }
}
