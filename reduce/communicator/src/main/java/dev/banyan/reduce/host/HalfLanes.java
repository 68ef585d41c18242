package dev.banyan.reduce.host;

import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;

/**
 * Finite 16-bit floats that are added or multiplied. jdk.incubator.vector has no conversion of them.
 *
 * <p>An element's bits are moved to where a 32-bit float has them. Such a float is 2^112 times smaller than the
 * element, and subnormal where the element is. Sums of them have the same bits as sums of the elements, since a
 * subnormal float still has 13 bits more than a subnormal element. Factors are multiplied with 2^112 first.
 *
 * <p>An infinity or a NaN becomes a finite float that way, so it is {@link #unusual}. What is rounded, or a
 * product, is {@link #tooGreat} where an element would be infinite.
 *
 * @param product whether values are multiplied
 */
record HalfLanes(boolean product) implements PairLanes {
    /**
     * Of so many ranks means are exact, too. A quotient that is subnormal here has 13 bits more than a subnormal
     * element. So rounding to them can't make it a tie of two elements: it is farther from one than half of an
     * element's last bit divided by the ranks, or is one.
     */
    static final int MOST_RANKS = (1 << 13) - 1;

    /** How many times as great elements are as the floats that are added. */
    static final float SUM_SCALE = 0x1p112f;

    /** How many bits more a 32-bit float has for its fraction. */
    private static final int FRACTION_BITS = 13;
    /** How many bits more a 32-bit float has for its exponent. */
    private static final int EXPONENT_BITS = 3;
    /** Where a 32-bit float has its exponent. */
    private static final int EXPONENT_SHIFT = 23;
    /** The exponent, as in its bits, of a float whose last bit is worth as much as that of a subnormal element. */
    private static final int LEAST_POWER = 126;
    /** Added to a power of two's bits, gives one and a half times the power. */
    private static final int HALF_OF_POWER = 1 << EXPONENT_SHIFT - 1;
    /** The binary logarithm of what floats are smaller by than elements. */
    private static final int SCALE = Math.getExponent(SUM_SCALE);

    private static final IntVector ELEMENT = VectorLanes.ints(0x8fffe000);
    private static final FloatVector FACTOR = FloatVector.broadcast(FloatVector.SPECIES_PREFERRED, SUM_SCALE);
    private static final IntVector MAGNITUDE = VectorLanes.ints(Integer.MAX_VALUE);
    private static final IntVector SIGN_BIT = VectorLanes.ints(Integer.MIN_VALUE);
    private static final IntVector EXPONENT = VectorLanes.ints(0x7f800000);
    private static final IntVector POWER = VectorLanes.ints(FRACTION_BITS << EXPONENT_SHIFT);
    private static final IntVector LARGE = VectorLanes.ints(FRACTION_BITS << EXPONENT_SHIFT | HALF_OF_POWER);
    private static final IntVector LEAST_LARGE = VectorLanes.ints(LEAST_POWER << EXPONENT_SHIFT | HALF_OF_POWER);
    private static final IntVector ZERO = VectorLanes.ints(0);
    private static final IntVector ONE = VectorLanes.ints(1);
    private static final IntVector BELOW_HALF = VectorLanes.ints((1 << FRACTION_BITS - 1) - 1);
    private static final IntVector ROUNDED = VectorLanes.ints(-1 << FRACTION_BITS);
    private static final IntVector INFINITY = VectorLanes.ints(0x7c00);
    private static final IntVector SIGN = VectorLanes.ints(0x8000);
    private static final ShortVector HALF_MAGNITUDE = VectorLanes.shorts(Short.MAX_VALUE);
    private static final ShortVector HALF_INFINITY = VectorLanes.shorts(0x7c00);
    /** The bits of the least sum that is too great. */
    private static final IntVector GREAT_SUM = VectorLanes.ints(Float.floatToRawIntBits(0x1p-96f));

    /** The bits of the least product that is too great. */
    private static final IntVector GREAT_PRODUCT = VectorLanes.ints(Float.floatToRawIntBits(0x1p16f));

    /** Returns whether such lanes serve a loop that {@link HalfLoop} computes. */
    static boolean serve(LoopShape shape) {
        int divided =
                Math.max(shape.code().indexOf(Expression.MEAN), shape.code().indexOf(Expression.SCALED));
        return divided < 0 || !shape.wideOutput() && divided == shape.code().length() - 1;
    }

    @Override
    public Vector<Object> lower(Vector<Object> elements) {
        IntVector pairs = (IntVector) (Vector<?>) elements;
        FloatVector values = pairs.lanewise(VectorOperators.LSHL, Short.SIZE)
                .lanewise(VectorOperators.ASHR, EXPONENT_BITS)
                .and(ELEMENT)
                .reinterpretAsFloats();
        return VectorLanes.untyped(product ? values.mul(FACTOR) : values);
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        IntVector pairs = (IntVector) (Vector<?>) elements;
        FloatVector values =
                pairs.lanewise(VectorOperators.ASHR, EXPONENT_BITS).and(ELEMENT).reinterpretAsFloats();
        return VectorLanes.untyped(product ? values.mul(FACTOR) : values);
    }

    @Override
    public boolean guarded() {
        return true;
    }

    @Override
    public Vector<Object> magnitudes(Vector<Object> elements) {
        return VectorLanes.untyped(elements.reinterpretAsShorts().and(HALF_MAGNITUDE));
    }

    @Override
    public Vector<Object> greaterMagnitudes(Vector<Object> others, Vector<Object> elements) {
        ShortVector magnitudes = (ShortVector) (Vector<?>) others;
        return VectorLanes.untyped(magnitudes.max(elements.reinterpretAsShorts().and(HALF_MAGNITUDE)));
    }

    @Override
    public Vector<Object> unusual() {
        return VectorLanes.untyped(HALF_INFINITY);
    }

    @Override
    public boolean smallResults() {
        return product;
    }

    /** Moves the magnitudes' bits so that those of an infinity are the least that are too great. */
    @Override
    public Vector<Object> ofPrivate(Vector<Object> values) {
        return VectorLanes.untyped(values.reinterpretAsInts()
                .and(MAGNITUDE)
                .sub(EXPONENT)
                .add(product ? GREAT_PRODUCT : GREAT_SUM)
                .max(ZERO)
                .reinterpretAsFloats());
    }

    @Override
    public Vector<Object> sizes(Vector<Object> values) {
        return VectorLanes.untyped(values.reinterpretAsInts().and(MAGNITUDE));
    }

    @Override
    public Vector<Object> greaterSizes(Vector<Object> others, Vector<Object> values) {
        IntVector sizes = (IntVector) (Vector<?>) others;
        return VectorLanes.untyped(sizes.max(values.reinterpretAsInts().and(MAGNITUDE)));
    }

    @Override
    public Vector<Object> tooGreat() {
        return VectorLanes.untyped(product ? GREAT_PRODUCT : GREAT_SUM);
    }

    /**
     * Rounds to nearest, ties to even. In sums, bit 13 is always the last bit that an element keeps. To products a
     * number is added and subtracted again of which the last bit is worth as much as theirs; it is one and a half times
     * a power of two, so that the sum has that last bit for both signs.
     */
    @Override
    public Vector<Object> round(Vector<Object> values) {
        IntVector bits = values.reinterpretAsInts();
        if (!product) {
            IntVector odd = bits.lanewise(VectorOperators.LSHR, FRACTION_BITS).and(ONE);
            return VectorLanes.untyped(
                    bits.add(odd).add(BELOW_HALF).and(ROUNDED).reinterpretAsFloats());
        }
        FloatVector large = bits.and(EXPONENT).add(LARGE).max(LEAST_LARGE).reinterpretAsFloats();
        return VectorLanes.untyped(((FloatVector) (Vector<?>) values)
                .add(large)
                .sub(large)
                .reinterpretAsInts()
                .or(bits.and(SIGN_BIT))
                .reinterpretAsFloats());
    }

    /**
     * Returns powers of two whose last bit is worth as much as the last bit of a subnormal element is in values, and
     * the divisor times as much.
     */
    @Override
    public Vector<Object> factors(int divisor) {
        int power = LEAST_POWER - (product ? 0 : SCALE) + Integer.numberOfTrailingZeros(divisor);
        return VectorLanes.untyped(VectorLanes.ints(power << EXPONENT_SHIFT));
    }

    @Override
    public boolean scaleWhenPacked() {
        return true;
    }

    /**
     * Rounds to nearest, ties to even: adds a power of two whose last bit is worth as much as the last bit of the
     * result. By how much the bits of the sum are greater than those of the power is the result's fraction, and one
     * more than its exponent where the result is not subnormal.
     */
    @Override
    public Vector<Object> pack(Vector<Object> values, Vector<Object> factors) {
        IntVector least = (IntVector) (Vector<?>) factors;
        IntVector bits = values.reinterpretAsInts();
        IntVector power = bits.and(EXPONENT).add(POWER).max(least);
        return VectorLanes.untyped(bits.and(MAGNITUDE)
                .reinterpretAsFloats()
                .add(power.reinterpretAsFloats())
                .reinterpretAsInts()
                .sub(power)
                .add(power.sub(least).lanewise(VectorOperators.LSHR, FRACTION_BITS))
                .min(INFINITY)
                .or(bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(SIGN)));
    }

    @Override
    public Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        IntVector first = (IntVector) (Vector<?>) lower;
        IntVector second = (IntVector) (Vector<?>) upper;
        return VectorLanes.untyped(first.or(second.lanewise(VectorOperators.LSHL, Short.SIZE)));
    }
}
