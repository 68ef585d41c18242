package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Means of 8-bit integers, rounded toward zero: their sums are 32-bit integers.
 *
 * @param unsigned whether the elements are
 */
record ByteMeanLanes(boolean unsigned) implements LoopLanes {
    /** Of so many ranks, floats hold each sum, and means are exact. */
    static final int MOST_RANKS = 1 << 13;

    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Byte> BYTES = LoopLanes.narrow(INTS, byte.class, Byte.SIZE);

    @Override
    public VectorSpecies<Object> species() {
        return VectorLanes.species(DataType.I32);
    }

    @Override
    public int widening() {
        return Integer.BYTES;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.untyped(VectorLanes.load(BYTES, address)
                .convertShape(unsigned ? VectorOperators.ZERO_EXTEND_B2I : VectorOperators.B2I, INTS, 0));
    }

    /** Returns a factor: see {@link IntMeanLanes#divisors}. */
    @Override
    public Vector<Object> divisors(int divisor) {
        return VectorLanes.untyped(FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, Math.nextUp(1f / divisor)));
    }

    @Override
    public Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        return VectorLanes.untyped(values.reinterpretAsInts()
                .convert(VectorOperators.I2F, 0)
                .mul(divisors.reinterpretAsFloats())
                .convert(VectorOperators.F2I, 0));
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        return VectorLanes.untyped(values.reinterpretAsInts().convertShape(VectorOperators.I2B, BYTES, 0));
    }
}
