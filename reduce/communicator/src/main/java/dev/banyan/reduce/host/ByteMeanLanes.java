package dev.banyan.reduce.host;

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

    private static final ShortVector BYTE = VectorLanes.shorts(0xff);
    private static final IntVector LOWER_SUM = VectorLanes.ints(0xffff);
    private static final IntVector UPPER_QUOTIENT = VectorLanes.ints(0xff0000);
    /** Number of bits of a quotient's fraction. */
    private static final int FRACTION_BITS = 24;

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
        ShortVector pairs = (ShortVector) (Vector<?>) elements;
        return VectorLanes.untyped(
                unsigned
                        ? pairs.and(BYTE)
                        : pairs.lanewise(VectorOperators.LSHL, Byte.SIZE).lanewise(VectorOperators.ASHR, Byte.SIZE));
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        ShortVector pairs = (ShortVector) (Vector<?>) elements;
        return VectorLanes.untyped(
                unsigned
                        ? pairs.lanewise(VectorOperators.LSHR, Byte.SIZE)
                        : pairs.lanewise(VectorOperators.ASHR, Byte.SIZE));
    }

    /** Returns the reciprocal with {@link #FRACTION_BITS}, rounded up. */
    @Override
    public Vector<Object> divisors(int divisor) {
        return VectorLanes.untyped(VectorLanes.ints(((1 << FRACTION_BITS) + divisor - 1) / divisor));
    }

    /**
     * Multiplies the magnitudes of the two sums in each 32 bits with the reciprocal. A sum is at most 255 n, and the
     * reciprocal is less than 2^-24 above 1/n: the product is less than 255 n / 2^24 above the quotient, which is less
     * than 1/n, as n is at most 256. So its integer is the quotient rounded down, and it has 32 bits.
     */
    @Override
    public Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        IntVector reciprocals = (IntVector) (Vector<?>) divisors;
        ShortVector sums = (ShortVector) (Vector<?>) values;
        IntVector pairs = (unsigned ? sums : sums.lanewise(VectorOperators.ABS)).reinterpretAsInts();
        IntVector lower = pairs.and(LOWER_SUM).mul(reciprocals).lanewise(VectorOperators.LSHR, FRACTION_BITS);
        IntVector upper = pairs.lanewise(VectorOperators.LSHR, Short.SIZE)
                .mul(reciprocals)
                .lanewise(VectorOperators.LSHR, FRACTION_BITS - Short.SIZE)
                .and(UPPER_QUOTIENT);
        ShortVector quotients = lower.or(upper).reinterpretAsShorts();
        if (unsigned) {
            return VectorLanes.untyped(quotients);
        }
        ShortVector signs = sums.lanewise(VectorOperators.ASHR, Short.SIZE - 1);
        return VectorLanes.untyped(
                quotients.lanewise(VectorOperators.XOR, signs).sub(signs));
    }

    @Override
    public Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        ShortVector first = (ShortVector) (Vector<?>) lower;
        ShortVector second = (ShortVector) (Vector<?>) upper;
        return VectorLanes.untyped(first.and(BYTE).or(second.lanewise(VectorOperators.LSHL, Byte.SIZE)));
    }
}
