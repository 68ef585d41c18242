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
    /** The exponents that belong to code 0, and a mask of the bits that do not belong to 8 times a code. */
    private static final long BEFORE_CODES = 7L << MANTISSA_BITS;

    private static final long CODE_BITS = INFINITY_BITS & (-8L << MANTISSA_BITS);

    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Long> LONGS = LongVector.SPECIES_PREFERRED;

    private final long exponent;
    private final int divisor;

    DoubleSums(ReproducibleSum sum) {
        exponent = sum.exponentOfCodeZero();
        divisor = sum.divisor();
    }

    @Override
    public int lanes() {
        return DOUBLES.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        return sum(sources, targets, exponent, divisor, elements);
    }

    private static int sum(long[] sources, long[] targets, long exponent, int divisor, int elements) {
        DoubleVector high = DoubleVector.broadcast(DOUBLES, HIGH);
        DoubleVector both = DoubleVector.broadcast(DOUBLES, HIGH + LOW);
        LongVector firstHigh = LongVector.broadcast(LONGS, LOW_BITS - sources.length * HIGH_BITS);
        LongVector firstLow = LongVector.broadcast(LONGS, LOW_BITS - sources.length * LOW_BITS);
        long scaleOfZero = (exponent + Double.MAX_EXPONENT) << MANTISSA_BITS;
        long backOfZero = (Double.MAX_EXPONENT - exponent - Integer.numberOfTrailingZeros(divisor)) << MANTISSA_BITS;
        for (int i = 0; i < elements; i += DOUBLES.length()) {
            long at = (long) Double.BYTES * i;
            LongVector greatest = LongVector.zero(LONGS);
            for (long source : sources) {
                greatest = greatest.max(
                        LongVector.fromMemorySegment(LONGS, VectorLanes.MEMORY, source + at, VectorLanes.ORDER)
                                .and(Long.MAX_VALUE));
            }
            // One less than zero is the greatest unsigned integer.
            if (greatest.compare(VectorOperators.GE, INFINITY_BITS)
                    .or(greatest.sub(1).compare(VectorOperators.ULT, LEAST_BITS - 1))
                    .anyTrue()) {
                return i;
            }
            LongVector codes = greatest.max(LEAST_BITS).sub(BEFORE_CODES).and(CODE_BITS);
            DoubleVector scale = codes.neg().add(scaleOfZero).reinterpretAsDoubles();
            LongVector highs = firstHigh;
            LongVector lows = firstLow;
            for (long source : sources) {
                DoubleVector number =
                        DoubleVector.fromMemorySegment(DOUBLES, VectorLanes.MEMORY, source + at, VectorLanes.ORDER);
                DoubleVector multiple = number.fma(scale, high);
                highs = highs.add(multiple.reinterpretAsLongs());
                lows = lows.add(number.fma(scale, both.sub(multiple)).reinterpretAsLongs());
            }
            DoubleVector multiples = highs.reinterpretAsDoubles().sub(LOW);
            DoubleVector rests = lows.reinterpretAsDoubles().sub(LOW);
            DoubleVector result = multiples
                    .fma(DoubleVector.broadcast(DOUBLES, UNIT), rests)
                    .mul(codes.add(backOfZero).reinterpretAsDoubles());
            for (long target : targets) {
                result.intoMemorySegment(VectorLanes.MEMORY, target + at, VectorLanes.ORDER);
            }
        }
        return elements;
    }
}
