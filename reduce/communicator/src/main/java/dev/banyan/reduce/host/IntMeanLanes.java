package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Means of 32-bit integers, rounded toward zero. A vector of 64-bit integers holds pairs of elements: those in the
 * lower halves are the first part of a sum, those in the upper halves the second one, each in 64 bits.
 */
record IntMeanLanes() implements LoopLanes {
    /** Of so many ranks, means are exact. */
    static final int MOST_RANKS = 1 << 19;

    private static final VectorSpecies<Object> LONGS = VectorLanes.species(DataType.I64);
    private static final LongVector LOWER = VectorLanes.longs(0xffff_ffffL);
    /** A double whose last bit is worth 1. With an integer added to its bits, it is their sum. */
    private static final DoubleVector INTEGERS = VectorLanes.doubles(0x1.8p52);

    private static final LongVector INTEGERS_BITS = VectorLanes.longs(Double.doubleToRawLongBits(0x1.8p52));
    /** Number of bits of a quotient's fraction. */
    private static final int FRACTION_BITS = 19;

    private static final LongVector FRACTION = VectorLanes.longs((1L << FRACTION_BITS) - 1);
    /** The bits of a double whose last bit is worth 2^-19, also with a 32-bit integer added or subtracted. */
    private static final LongVector UNIT = VectorLanes.longs(Double.doubleToRawLongBits(0x1.8p33));

    @Override
    public VectorSpecies<Object> species() {
        return LONGS;
    }

    @Override
    public int widening() {
        return 2;
    }

    @Override
    public int parts() {
        return 2;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(LONGS, address);
    }

    @Override
    public Vector<Object> lower(Vector<Object> elements) {
        return elements.lanewise(VectorOperators.LSHL, Integer.SIZE).lanewise(VectorOperators.ASHR, Integer.SIZE);
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        return elements.lanewise(VectorOperators.ASHR, Integer.SIZE);
    }

    /** Returns a factor a little above the reciprocal. */
    @Override
    public Vector<Object> divisors(int divisor) {
        return VectorLanes.untyped(DoubleVector.broadcast(DoubleVector.SPECIES_PREFERRED, Math.nextUp(1.0 / divisor)));
    }

    /**
     * Divides sums as doubles. A product with the factor is the quotient or farther from zero, by less than 2^-20. With
     * {@link #UNIT} added, it is rounded to 2^-19, and the quotient's fraction is at most 1 - 2^-19, since n is at most
     * 2^19: the bits above the fraction are the quotient rounded down. That is toward zero for a negative sum with 1 -
     * 2^-19 added.
     */
    @Override
    public Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        LongVector sums = (LongVector) (Vector<?>) values;
        return VectorLanes.untyped(sums.add(INTEGERS_BITS)
                .reinterpretAsDoubles()
                .sub(INTEGERS)
                .mul((DoubleVector) (Vector<?>) divisors)
                .add(sums.lanewise(VectorOperators.ASHR, Long.SIZE - 1)
                        .and(FRACTION)
                        .or(UNIT)
                        .reinterpretAsDoubles())
                .reinterpretAsLongs()
                .lanewise(VectorOperators.LSHR, FRACTION_BITS));
    }

    /** Joins means, which have other bits above them. */
    @Override
    public Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        LongVector first = (LongVector) (Vector<?>) lower;
        LongVector second = (LongVector) (Vector<?>) upper;
        return VectorLanes.untyped(first.and(LOWER).or(second.lanewise(VectorOperators.LSHL, Integer.SIZE)));
    }
}
