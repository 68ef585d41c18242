package dev.banyan.reduce.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Means of 8-bit integers, rounded toward zero. A vector of 16-bit integers holds pairs of elements: those in the lower
 * halves are the first part of a sum, those in the upper halves the second one, each in 16 bits.
 *
 * @param unsigned whether the elements are
 */
record ByteMeanLanes(boolean unsigned) implements LoopLanes {
    /** Of so many ranks, 16 bits hold each sum, and means are exact. */
    static final int MOST_RANKS = 256;

    private static final int BYTE = 0xff;
    private static final int LOWER_SUM = 0xffff;
    /** The bits of a float whose last bit is worth 1/256, also with a byte added or subtracted. */
    private static final int UNIT = Float.floatToRawIntBits(0x1.8p15f);

    @Override
    public VectorSpecies<Object> species() {
        return VectorLanes.SHORTS;
    }

    @Override
    public int widening() {
        return Short.BYTES;
    }

    @Override
    public int parts() {
        return 2;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(VectorLanes.SHORTS, address);
    }

    @Override
    public Vector<Object> lower(Vector<Object> elements) {
        ShortVector pairs = elements.reinterpretAsShorts();
        return VectorLanes.untyped(
                unsigned
                        ? pairs.and((short) BYTE)
                        : pairs.lanewise(VectorOperators.LSHL, Byte.SIZE).lanewise(VectorOperators.ASHR, Byte.SIZE));
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        ShortVector pairs = elements.reinterpretAsShorts();
        return VectorLanes.untyped(
                unsigned
                        ? pairs.lanewise(VectorOperators.LSHR, Byte.SIZE)
                        : pairs.lanewise(VectorOperators.ASHR, Byte.SIZE));
    }

    /** Returns a factor a little above the reciprocal. */
    @Override
    public Vector<Object> divisors(int divisor) {
        return VectorLanes.untyped(FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, Math.nextUp(1f / divisor)));
    }

    /**
     * Divides the two sums in each 32 bits as floats. A product with the factor is the quotient or farther from zero,
     * by far less than 1/n. With {@link #UNIT} added, it is rounded to 1/256, and the quotient's fraction is at most
     * 255/256, since n is at most 256: the eight bits above the fraction are the quotient rounded down. That is toward
     * zero for a negative sum with 255/256 added.
     */
    @Override
    public Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        FloatVector factors = divisors.reinterpretAsFloats();
        IntVector sums = values.reinterpretAsInts();
        IntVector lower = unsigned
                ? sums.and(LOWER_SUM)
                : sums.lanewise(VectorOperators.LSHL, Short.SIZE).lanewise(VectorOperators.ASHR, Short.SIZE);
        IntVector upper = unsigned
                ? sums.lanewise(VectorOperators.LSHR, Short.SIZE)
                : sums.lanewise(VectorOperators.ASHR, Short.SIZE);
        lower = lower.convert(VectorOperators.I2F, 0)
                .mul(factors)
                .reinterpretAsFloats()
                .add(lower.lanewise(VectorOperators.ASHR, Integer.SIZE - 1)
                        .and(BYTE)
                        .or(UNIT)
                        .reinterpretAsFloats())
                .reinterpretAsInts()
                .lanewise(VectorOperators.LSHR, Byte.SIZE)
                .and(BYTE);
        upper = upper.convert(VectorOperators.I2F, 0)
                .mul(factors)
                .reinterpretAsFloats()
                .add(upper.lanewise(VectorOperators.ASHR, Integer.SIZE - 1)
                        .and(BYTE)
                        .or(UNIT)
                        .reinterpretAsFloats())
                .reinterpretAsInts()
                .lanewise(VectorOperators.LSHL, Byte.SIZE)
                .and(BYTE << Short.SIZE);
        return VectorLanes.untyped(lower.or(upper).reinterpretAsShorts());
    }

    /** Joins means, which have no bits beyond the lower byte of each lane. */
    @Override
    public Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        return VectorLanes.untyped(
                lower.reinterpretAsShorts().or(upper.reinterpretAsShorts().lanewise(VectorOperators.LSHL, Byte.SIZE)));
    }
}
