package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Means of 32-bit integers, rounded toward zero: their sums are doubles, which are exact up to 2^53. */
record IntMeanLanes() implements LoopLanes {
    /** Of so many ranks, doubles hold each sum, and means are exact. */
    static final int MOST_RANKS = 1 << 19;

    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Integer> INTS = LoopLanes.narrow(DOUBLES, int.class, Integer.SIZE);

    @Override
    public VectorSpecies<Object> species() {
        return VectorLanes.species(DataType.F64);
    }

    @Override
    public int widening() {
        return 2;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.untyped(VectorLanes.load(INTS, address).convertShape(VectorOperators.I2D, DOUBLES, 0));
    }

    /**
     * Returns a factor a little above the reciprocal. A product with it is at least the quotient, and above it by less
     * than 1/n: so cutting off its fraction gives the quotient rounded toward zero.
     */
    @Override
    public Vector<Object> divisors(int divisor) {
        return VectorLanes.untyped(DoubleVector.broadcast(DOUBLES, Math.nextUp(1.0 / divisor)));
    }

    @Override
    public Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        return values.lanewise(VectorOperators.MUL, divisors);
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        return VectorLanes.untyped(values.reinterpretAsDoubles().convertShape(VectorOperators.D2I, INTS, 0));
    }
}
