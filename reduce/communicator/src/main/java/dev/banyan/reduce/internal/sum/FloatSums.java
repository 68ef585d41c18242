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
 * from the memory of all ranks. Needs the module jdk.incubator.vector. It serves one thread at a time.
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
    private static final int MANTISSA_BITS = 23;
    /** The bits of 2^-70: no power of two for greater numbers is beyond floats, and no result subnormal. */
    private static final int LEAST_BITS = Float.floatToRawIntBits(0x1p-70f);

    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;

    // The JIT takes half as many nodes for a vector as for a scalar.
    private static final IntVector ONE = VectorLanes.ints(1);
    private static final IntVector MAGNITUDE = VectorLanes.ints(Integer.MAX_VALUE);
    private static final IntVector INFINITY = VectorLanes.ints(Float.floatToRawIntBits(Float.POSITIVE_INFINITY));
    private static final IntVector LEAST = VectorLanes.ints(LEAST_BITS);
    private static final IntVector BELOW_LEAST = VectorLanes.ints(LEAST_BITS - 1);
    private static final FloatVector LOWS = FloatVector.broadcast(FLOATS, LOW);
    private static final FloatVector UNITS = FloatVector.broadcast(FLOATS, UNIT);

    private final int scaleOfZero;
    private final int backOfZero;
    /** Without its powers of two. */
    private final int divisor;
    /**
     * True if results are then rounded to 16 bits; the divisor is a power of two. They are cut here; their last bit is
     * set if they are inexact.
     */
    private final boolean again;
    /** Multiples of {@link #UNIT}, and behind them rests, of sums that are divided or cut. */
    private final float[] parts;

    /** The bits of the greatest exponents of these sums. */
    private final int[] codes;

    FloatSums(ReproducibleSum sum) {
        again = sum.type() != DataType.F32;
        int exponent = sum.exponentOfCodeZero();
        int shift = Integer.numberOfTrailingZeros(sum.divisor());
        divisor = sum.divisor() >> shift;
        scaleOfZero = (exponent + Float.MAX_EXPONENT) << MANTISSA_BITS;
        backOfZero = (Float.MAX_EXPONENT - exponent - shift) << MANTISSA_BITS;
        boolean inParts = again || divisor > 1;
        parts = new float[inParts ? 2 * SumBlock.LENGTH : 0];
        codes = new int[inParts ? SumBlock.LENGTH : 0];
    }

    @Override
    public int lanes() {
        return 2 * FLOATS.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        int done = sum(sources, targets, scaleOfZero, backOfZero, parts, codes, elements);
        if (again) {
            cut(parts, codes, backOfZero, targets, done);
        } else if (divisor > 1) {
            divide(parts, divisor, codes, backOfZero, targets, done);
        }
        return done;
    }

    /**
     * Sums two vectors at a time, so that the other work of the loops over ranks counts half. The loop calls no
     * methods of ours: the JIT inlines only those of vectors where a method has so many nodes.
     *
     * @param parts receives multiples and rests instead of results in the targets, unless it is empty
     * @param codes receives the bits of exponents then
     */
    private static int sum(
            long[] sources, long[] targets, int scaleOfZero, int backOfZero, float[] parts, int[] codes, int elements) {
        FloatVector high = FloatVector.broadcast(FLOATS, HIGH);
        FloatVector both = FloatVector.broadcast(FLOATS, HIGH + LOW);
        IntVector noHighs = VectorLanes.ints(LOW_BITS - sources.length * HIGH_BITS);
        IntVector noLows = VectorLanes.ints(LOW_BITS - sources.length * LOW_BITS);
        IntVector scale = VectorLanes.ints(scaleOfZero);
        IntVector back = VectorLanes.ints(backOfZero);
        for (int i = 0; i < elements; i += 2 * FLOATS.length()) {
            int next = i + FLOATS.length();
            long at0 = (long) Float.BYTES * i;
            long at1 = (long) Float.BYTES * next;
            IntVector greatest0 = IntVector.zero(INTS);
            IntVector greatest1 = IntVector.zero(INTS);
            for (long source : sources) {
                greatest0 = greatest0.max(
                        IntVector.fromMemorySegment(INTS, VectorLanes.MEMORY, source + at0, VectorLanes.ORDER)
                                .and(MAGNITUDE));
                greatest1 = greatest1.max(
                        IntVector.fromMemorySegment(INTS, VectorLanes.MEMORY, source + at1, VectorLanes.ORDER)
                                .and(MAGNITUDE));
            }
            // One less than zero is the greatest unsigned integer.
            IntVector least = greatest0.sub(ONE).lanewise(VectorOperators.UMIN, greatest1.sub(ONE));
            if (greatest0
                    .max(greatest1)
                    .compare(VectorOperators.GE, INFINITY)
                    .or(least.compare(VectorOperators.ULT, BELOW_LEAST))
                    .anyTrue()) {
                return i;
            }
            IntVector codes0 = greatest0.max(LEAST).and(INFINITY);
            IntVector codes1 = greatest1.max(LEAST).and(INFINITY);
            FloatVector scale0 = scale.sub(codes0).reinterpretAsFloats();
            FloatVector scale1 = scale.sub(codes1).reinterpretAsFloats();
            IntVector highs0 = noHighs;
            IntVector highs1 = noHighs;
            IntVector lows0 = noLows;
            IntVector lows1 = noLows;
            for (long source : sources) {
                FloatVector number0 =
                        FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, source + at0, VectorLanes.ORDER);
                FloatVector multiple0 = number0.fma(scale0, high);
                highs0 = highs0.add(multiple0.reinterpretAsInts());
                lows0 = lows0.add(number0.fma(scale0, both.sub(multiple0)).reinterpretAsInts());
                FloatVector number1 =
                        FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, source + at1, VectorLanes.ORDER);
                FloatVector multiple1 = number1.fma(scale1, high);
                highs1 = highs1.add(multiple1.reinterpretAsInts());
                lows1 = lows1.add(number1.fma(scale1, both.sub(multiple1)).reinterpretAsInts());
            }
            FloatVector multiples0 = highs0.reinterpretAsFloats().sub(LOWS);
            FloatVector multiples1 = highs1.reinterpretAsFloats().sub(LOWS);
            FloatVector rests0 = lows0.reinterpretAsFloats().sub(LOWS);
            FloatVector rests1 = lows1.reinterpretAsFloats().sub(LOWS);
            if (parts.length > 0) {
                multiples0.intoArray(parts, i);
                multiples1.intoArray(parts, next);
                rests0.intoArray(parts, SumBlock.LENGTH + i);
                rests1.intoArray(parts, SumBlock.LENGTH + next);
                codes0.intoArray(codes, i);
                codes1.intoArray(codes, next);
                continue;
            }
            FloatVector result0 =
                    multiples0.fma(UNITS, rests0).mul(codes0.add(back).reinterpretAsFloats());
            FloatVector result1 =
                    multiples1.fma(UNITS, rests1).mul(codes1.add(back).reinterpretAsFloats());
            for (long target : targets) {
                result0.intoMemorySegment(VectorLanes.MEMORY, target + at0, VectorLanes.ORDER);
                result1.intoMemorySegment(VectorLanes.MEMORY, target + at1, VectorLanes.ORDER);
            }
        }
        return elements;
    }

    private static void divide(float[] parts, int divisor, int[] codes, int backOfZero, long[] targets, int elements) {
        for (int i = 0; i < elements; i += FLOATS.length()) {
            FloatVector multiples = FloatVector.fromArray(FLOATS, parts, i);
            FloatVector rests = FloatVector.fromArray(FLOATS, parts, SumBlock.LENGTH + i);
            FloatVector quotient = quotient(multiples, rests, divisor, 0).add(quotient(multiples, rests, divisor, 1));
            store(quotient, codes, backOfZero, targets, i);
        }
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

    private static void cut(float[] parts, int[] codes, int backOfZero, long[] targets, int elements) {
        for (int i = 0; i < elements; i += FLOATS.length()) {
            FloatVector multiples = FloatVector.fromArray(FLOATS, parts, i);
            FloatVector rests = FloatVector.fromArray(FLOATS, parts, SumBlock.LENGTH + i);
            FloatVector rounded = multiples.fma(UNITS, rests);
            // By this a rounded sum is too small.
            FloatVector rest = multiples.fma(UNITS, rounded.neg()).add(rests);
            IntVector bits = rounded.reinterpretAsInts();
            // The signs differ if the sum was rounded up.
            IntVector up =
                    bits.lanewise(VectorOperators.XOR, rest.reinterpretAsInts()).lanewise(VectorOperators.LSHR, 31);
            IntVector cut = bits.blend(
                    bits.sub(up).or(ONE), rest.compare(VectorOperators.NE, 0f).cast(INTS));
            store(cut.reinterpretAsFloats(), codes, backOfZero, targets, i);
        }
    }

    private static void store(FloatVector sums, int[] codes, int backOfZero, long[] targets, int i) {
        FloatVector result =
                sums.mul(IntVector.fromArray(INTS, codes, i).add(backOfZero).reinterpretAsFloats());
        for (long target : targets) {
            result.intoMemorySegment(VectorLanes.MEMORY, target + (long) Float.BYTES * i, VectorLanes.ORDER);
        }
    }
}
