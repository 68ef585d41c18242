package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Means of 64-bit integers, rounded toward zero. A sum is in two vectors: the sum of the elements modulo 2^64, and that
 * of their upper halves. Together they are the exact sum, which is divided half by half in doubles.
 */
record LongMeanLanes() implements LoopLanes {
    /** Of so many ranks, means are exact. */
    static final int MOST_RANKS = 1 << 16;

    private static final VectorSpecies<Object> LONGS = VectorLanes.species(DataType.I64);
    private static final LongVector LOWER = VectorLanes.longs(0xffff_ffffL);
    private static final LongVector UPPER = VectorLanes.longs(0xffff_ffff_0000_0000L);
    private static final LongVector ONE = VectorLanes.longs(1);
    private static final LongVector SIGN = VectorLanes.longs(Long.MIN_VALUE);
    /** A double whose last bit is worth 1. With an integer below it in place of its fraction, it is their sum. */
    private static final DoubleVector UNIT = VectorLanes.doubles(0x1p52);

    private static final LongVector UNIT_BITS = VectorLanes.longs(Double.doubleToRawLongBits(0x1p52));
    /** A double whose upper 32 bits of the fraction are worth 1 and more. */
    private static final DoubleVector QUOTIENT = VectorLanes.doubles(0x1p32);
    /** The bits of a quotient that are not its fraction. */
    private static final LongVector INTEGER = VectorLanes.longs(-1L << 20);

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
    public boolean partsMeet() {
        return true;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(LONGS, address);
    }

    @Override
    public Vector<Object> lower(Vector<Object> elements) {
        return elements;
    }

    @Override
    public Vector<Object> upper(Vector<Object> elements) {
        return elements.lanewise(VectorOperators.ASHR, 32);
    }

    /**
     * Divides sums by n, half by half; the quotient of each half is below 2^32. The factor is a little above 1/n, and
     * a product with it is less than 2^-18 above the quotient, whose fraction is at most 1 - 1/n: cutting off the
     * product's fraction gives the quotient rounded down. With {@link #QUOTIENT} added, the last 20 bits are the
     * fraction.
     */
    @Override
    public Vector<Object> mean(Vector<Object> sums, Vector<Object> uppers, Vector<Object> divisors) {
        LongVector upper = (LongVector) (Vector<?>) uppers;
        LongVector ranks = (LongVector) (Vector<?>) divisors;
        DoubleVector divisor = ranks.or(UNIT_BITS).reinterpretAsDoubles().sub(UNIT);
        // See IntMeanLanes.divisors.
        DoubleVector factor = VectorLanes.doubles(1)
                .div(divisor)
                .reinterpretAsLongs()
                .add(ONE)
                .reinterpretAsDoubles();
        LongVector lower = ((LongVector) (Vector<?>) sums).sub(upper.lanewise(VectorOperators.LSHL, 32));
        // The quotient is cut down to an integer, which is upwards for a negative sum with n - 1 added.
        LongVector negative =
                upper.add(lower.lanewise(VectorOperators.LSHR, 32)).lanewise(VectorOperators.ASHR, 63);
        lower = lower.add(negative.and(ranks.sub(ONE)));
        // With n * 2^63 added, sums are positive, and quotients greater by 2^63.
        upper = upper.add(lower.lanewise(VectorOperators.LSHR, 32)).add(ranks.lanewise(VectorOperators.LSHL, 31));
        DoubleVector dividend = upper.or(UNIT_BITS).reinterpretAsDoubles().sub(UNIT);
        LongVector first = dividend.mul(factor).add(QUOTIENT).reinterpretAsLongs();
        DoubleVector remainder = dividend.sub(
                first.and(INTEGER).reinterpretAsDoubles().sub(QUOTIENT).mul(divisor));
        LongVector second = lower.and(LOWER)
                .or(UNIT_BITS)
                .reinterpretAsDoubles()
                .sub(UNIT)
                .add(remainder.mul(QUOTIENT))
                .mul(factor)
                .add(QUOTIENT)
                .reinterpretAsLongs();
        return VectorLanes.untyped(first.lanewise(VectorOperators.LSHL, 12)
                .and(UPPER)
                .or(second.lanewise(VectorOperators.LSHL, 12).lanewise(VectorOperators.LSHR, 32))
                .lanewise(VectorOperators.XOR, SIGN));
    }
}
