package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/** Computes {@linkplain ReproducibleSum reproducible sums} of F64 as {@link FloatSums} does those of F32. */
final class DoubleSums implements VectorSums {
    private static final double HIGH = 0x1.8p64;
    private static final double LOW = 0x1.8p52;
    /** The unit in the last place of {@link #HIGH}; that of {@link #LOW} is 1. */
    private static final double UNIT = 0x1p12;

    private static final long HIGH_BITS = Double.doubleToRawLongBits(HIGH);
    private static final long LOW_BITS = Double.doubleToRawLongBits(LOW);
    private static final long INFINITY_BITS = Double.doubleToRawLongBits(Double.POSITIVE_INFINITY);
    private static final int MANTISSA_BITS = 52;
    /** The bits of 2^-900: no power of two for greater numbers is beyond doubles, and no result subnormal. */
    private static final long LEAST_BITS = Double.doubleToRawLongBits(0x1p-900);

    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Long> LONGS = LongVector.SPECIES_PREFERRED;

    private static final LongVector ONE = LongVector.broadcast(LONGS, 1);
    private static final LongVector MAGNITUDE = LongVector.broadcast(LONGS, Long.MAX_VALUE);
    private static final LongVector INFINITY = LongVector.broadcast(LONGS, INFINITY_BITS);
    private static final LongVector LEAST = LongVector.broadcast(LONGS, LEAST_BITS);
    private static final LongVector BELOW_LEAST = LongVector.broadcast(LONGS, LEAST_BITS - 1);
    /** The exponents that belong to code 0, and a mask of the bits that do not belong to 8 times a code. */
    private static final LongVector BEFORE_CODES = LongVector.broadcast(LONGS, 7L << MANTISSA_BITS);

    private static final LongVector CODE_BITS = LongVector.broadcast(LONGS, INFINITY_BITS & (-8L << MANTISSA_BITS));
    private static final DoubleVector LOWS = DoubleVector.broadcast(DOUBLES, LOW);
    private static final DoubleVector UNITS = DoubleVector.broadcast(DOUBLES, UNIT);

    private final long scaleOfZero;
    private final long backOfZero;

    DoubleSums(ReproducibleSum sum) {
        long exponent = sum.exponentOfCodeZero();
        int shift = Integer.numberOfTrailingZeros(sum.divisor());
        scaleOfZero = (exponent + Double.MAX_EXPONENT) << MANTISSA_BITS;
        backOfZero = (Double.MAX_EXPONENT - exponent - shift) << MANTISSA_BITS;
    }

    @Override
    public int lanes() {
        return 2 * DOUBLES.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        return sum(sources, targets, scaleOfZero, backOfZero, elements);
    }

    private static int sum(long[] sources, long[] targets, long scaleOfZero, long backOfZero, int elements) {
        DoubleVector high = DoubleVector.broadcast(DOUBLES, HIGH);
        DoubleVector both = DoubleVector.broadcast(DOUBLES, HIGH + LOW);
        LongVector noHighs = LongVector.broadcast(LONGS, LOW_BITS - sources.length * HIGH_BITS);
        LongVector noLows = LongVector.broadcast(LONGS, LOW_BITS - sources.length * LOW_BITS);
        LongVector scale = LongVector.broadcast(LONGS, scaleOfZero);
        LongVector back = LongVector.broadcast(LONGS, backOfZero);
        for (int i = 0; i < elements; i += 2 * DOUBLES.length()) {
            long at0 = (long) Double.BYTES * i;
            long at1 = at0 + DOUBLES.vectorByteSize();
            LongVector greatest0 = LongVector.zero(LONGS);
            LongVector greatest1 = LongVector.zero(LONGS);
            for (long source : sources) {
                greatest0 = greatest0.max(
                        LongVector.fromMemorySegment(LONGS, VectorLanes.MEMORY, source + at0, VectorLanes.ORDER)
                                .and(MAGNITUDE));
                greatest1 = greatest1.max(
                        LongVector.fromMemorySegment(LONGS, VectorLanes.MEMORY, source + at1, VectorLanes.ORDER)
                                .and(MAGNITUDE));
            }
            // One less than zero is the greatest unsigned integer.
            LongVector least = greatest0.sub(ONE).lanewise(VectorOperators.UMIN, greatest1.sub(ONE));
            if (greatest0
                    .max(greatest1)
                    .compare(VectorOperators.GE, INFINITY)
                    .or(least.compare(VectorOperators.ULT, BELOW_LEAST))
                    .anyTrue()) {
                return i;
            }
            LongVector codes0 = greatest0.max(LEAST).sub(BEFORE_CODES).and(CODE_BITS);
            LongVector codes1 = greatest1.max(LEAST).sub(BEFORE_CODES).and(CODE_BITS);
            DoubleVector scale0 = scale.sub(codes0).reinterpretAsDoubles();
            DoubleVector scale1 = scale.sub(codes1).reinterpretAsDoubles();
            LongVector highs0 = noHighs;
            LongVector highs1 = noHighs;
            LongVector lows0 = noLows;
            LongVector lows1 = noLows;
            for (long source : sources) {
                DoubleVector number0 =
                        DoubleVector.fromMemorySegment(DOUBLES, VectorLanes.MEMORY, source + at0, VectorLanes.ORDER);
                DoubleVector multiple0 = number0.fma(scale0, high);
                highs0 = highs0.add(multiple0.reinterpretAsLongs());
                lows0 = lows0.add(number0.fma(scale0, both.sub(multiple0)).reinterpretAsLongs());
                DoubleVector number1 =
                        DoubleVector.fromMemorySegment(DOUBLES, VectorLanes.MEMORY, source + at1, VectorLanes.ORDER);
                DoubleVector multiple1 = number1.fma(scale1, high);
                highs1 = highs1.add(multiple1.reinterpretAsLongs());
                lows1 = lows1.add(number1.fma(scale1, both.sub(multiple1)).reinterpretAsLongs());
            }
            DoubleVector multiples0 = highs0.reinterpretAsDoubles().sub(LOWS);
            DoubleVector multiples1 = highs1.reinterpretAsDoubles().sub(LOWS);
            DoubleVector rests0 = lows0.reinterpretAsDoubles().sub(LOWS);
            DoubleVector rests1 = lows1.reinterpretAsDoubles().sub(LOWS);
            DoubleVector result0 =
                    multiples0.fma(UNITS, rests0).mul(codes0.add(back).reinterpretAsDoubles());
            DoubleVector result1 =
                    multiples1.fma(UNITS, rests1).mul(codes1.add(back).reinterpretAsDoubles());
            for (long target : targets) {
                result0.intoMemorySegment(VectorLanes.MEMORY, target + at0, VectorLanes.ORDER);
                result1.intoMemorySegment(VectorLanes.MEMORY, target + at1, VectorLanes.ORDER);
            }
        }
        return elements;
    }
}
