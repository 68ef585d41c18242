package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} of F32 whose integers have 32 bits, with vectors, straight
 * from the memory of all ranks. Needs the module jdk.incubator.vector.
 *
 * <p>A contribution's integer is made of two: added to {@link #HIGH}, the scaled contribution is rounded to a multiple
 * of {@link #UNIT}; added to {@link #LOW}, the rest is rounded to an integer, to even in ties, as the multiple is even.
 * An fma scales exactly. As the bits of such a float grow by 1 with each unit, these bits are added up.
 */
final class FloatSums implements VectorSums {
    private static final float HIGH = 0x1.8p33f;
    private static final float LOW = 0x1.8p23f;
    /** The unit in the last place of {@link #HIGH}; that of {@link #LOW} is 1. */
    private static final float UNIT = 0x1p10f;

    private static final int HIGH_BITS = Float.floatToRawIntBits(HIGH);
    private static final int LOW_BITS = Float.floatToRawIntBits(LOW);
    private static final int INFINITY_BITS = Float.floatToRawIntBits(Float.POSITIVE_INFINITY);
    private static final int MANTISSA_BITS = 23;
    /** The bits of 2^-70: no power of two for greater numbers is beyond floats, and no result subnormal. */
    private static final int LEAST_BITS = Float.floatToRawIntBits(0x1p-70f);

    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;

    private final int exponent;
    private final int divisor;
    /** True if results are then rounded to 16 bits. They are cut here; their last bit is set if they are inexact. */
    private final boolean again;

    FloatSums(ReproducibleSum sum) {
        again = sum.type() != DataType.F32;
        exponent = sum.exponentOfCodeZero();
        divisor = sum.divisor();
    }

    @Override
    public int lanes() {
        return FLOATS.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        return sum(sources, targets, exponent, divisor, again, elements);
    }

    private static int sum(long[] sources, long[] targets, int exponent, int divisor, boolean again, int elements) {
        FloatVector high = FloatVector.broadcast(FLOATS, HIGH);
        FloatVector both = FloatVector.broadcast(FLOATS, HIGH + LOW);
        IntVector firstHigh = IntVector.broadcast(INTS, LOW_BITS - sources.length * HIGH_BITS);
        IntVector firstLow = IntVector.broadcast(INTS, LOW_BITS - sources.length * LOW_BITS);
        boolean divides = Integer.bitCount(divisor) > 1;
        int shift = divides ? 0 : Integer.numberOfTrailingZeros(divisor);
        int scaleOfZero = (exponent + Float.MAX_EXPONENT) << MANTISSA_BITS;
        int backOfZero = (Float.MAX_EXPONENT - exponent - shift) << MANTISSA_BITS;
        for (int i = 0; i < elements; i += FLOATS.length()) {
            long at = (long) Float.BYTES * i;
            IntVector greatest = IntVector.zero(INTS);
            for (long source : sources) {
                greatest = greatest.max(
                        IntVector.fromMemorySegment(INTS, VectorLanes.MEMORY, source + at, VectorLanes.ORDER)
                                .and(Integer.MAX_VALUE));
            }
            // One less than zero is the greatest unsigned integer.
            if (greatest.compare(VectorOperators.GE, INFINITY_BITS)
                    .or(greatest.sub(1).compare(VectorOperators.ULT, LEAST_BITS - 1))
                    .anyTrue()) {
                return i;
            }
            IntVector codes = greatest.max(LEAST_BITS).and(INFINITY_BITS);
            FloatVector scale = codes.neg().add(scaleOfZero).reinterpretAsFloats();
            IntVector highs = firstHigh;
            IntVector lows = firstLow;
            for (long source : sources) {
                FloatVector number =
                        FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, source + at, VectorLanes.ORDER);
                FloatVector multiple = number.fma(scale, high);
                highs = highs.add(multiple.reinterpretAsInts());
                lows = lows.add(number.fma(scale, both.sub(multiple)).reinterpretAsInts());
            }
            FloatVector multiples = highs.reinterpretAsFloats().sub(LOW);
            FloatVector rests = lows.reinterpretAsFloats().sub(LOW);
            FloatVector sum = divides
                    ? quotient(multiples, rests, divisor, 0).add(quotient(multiples, rests, divisor, 1))
                    : multiples.fma(FloatVector.broadcast(FLOATS, UNIT), rests);
            if (again) {
                sum = cut(
                        sum,
                        multiples
                                .fma(FloatVector.broadcast(FLOATS, UNIT), sum.neg())
                                .add(rests));
            }
            FloatVector result = sum.mul(codes.add(backOfZero).reinterpretAsFloats());
            for (long target : targets) {
                result.intoMemorySegment(VectorLanes.MEMORY, target + at, VectorLanes.ORDER);
            }
        }
        return elements;
    }

    /**
     * Returns the quotients of one half of the lanes, zeros elsewhere. A quotient of 31 bits and a small divisor,
     * rounded to a double, is no false tie of floats.
     */
    private static FloatVector quotient(FloatVector multiples, FloatVector rests, int divisor, int half) {
        DoubleVector sum = ((DoubleVector) multiples.convertShape(VectorOperators.F2D, DOUBLES, half))
                .fma(DoubleVector.broadcast(DOUBLES, UNIT), (DoubleVector)
                        rests.convertShape(VectorOperators.F2D, DOUBLES, half));
        return (FloatVector) sum.div(divisor).convertShape(VectorOperators.D2F, FLOATS, -half);
    }

    /**
     * Returns a rounded number, cut instead.
     *
     * @param rest by which it is too small
     */
    private static FloatVector cut(FloatVector rounded, FloatVector rest) {
        IntVector bits = rounded.reinterpretAsInts();
        // The signs differ if the number was rounded up.
        IntVector up =
                bits.lanewise(VectorOperators.XOR, rest.reinterpretAsInts()).lanewise(VectorOperators.LSHR, 31);
        return bits.blend(
                        bits.sub(up).or(1), rest.compare(VectorOperators.NE, 0f).cast(INTS))
                .reinterpretAsFloats();
    }
}
