package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} of F32 whose integers have 32 bits, with vectors, straight
 * from the memory of all ranks. Needs the module jdk.incubator.vector.
 */
final class FloatSums {
    /** Adding it to a double of less than 2^51 rounds that to an integer, which the low bits of the sum then hold. */
    private static final double TO_INTEGER = 0x1.8p52;

    private static final long TO_INTEGER_BITS = Double.doubleToRawLongBits(TO_INTEGER);
    private static final VectorSpecies<Double> DOUBLES = DoubleVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Long> LONGS = LongVector.SPECIES_PREFERRED;
    /** Has as many lanes as {@link #DOUBLES}. */
    private static final VectorShape HALF = VectorShape.forBitSize(DOUBLES.vectorBitSize() / 2);

    private static final VectorSpecies<Integer> INTS = VectorSpecies.of(int.class, HALF);
    private static final VectorSpecies<Float> FLOATS = VectorSpecies.of(float.class, HALF);

    private final long[] addresses;
    private final int exponent;
    private final int divisor;

    FloatSums(ReproducibleSum sum) {
        addresses = new long[sum.contributions()];
        exponent = sum.exponentOfCodeZero();
        divisor = sum.divisor();
    }

    /**
     * Sums elements.
     *
     * @param sources one for each contribution
     * @param offset of the first element in each of them, in bytes
     * @return false if they are no whole number of vectors, or an infinity or a NaN is among them; the results then
     *     mean nothing
     */
    boolean sum(MemorySegment[] sources, long offset, int elements, float[] results) {
        if (elements % FLOATS.length() != 0) {
            return false;
        }
        for (int s = 0; s < addresses.length; s++) {
            addresses[s] = VectorLanes.address(sources[s], offset, elements * Float.BYTES);
        }
        return sum(addresses, exponent + Double.MAX_EXPONENT, divisor, elements, results);
    }

    private static boolean sum(long[] addresses, int biasedExponent, int divisor, int elements, float[] results) {
        DoubleVector toInteger = DoubleVector.broadcast(DOUBLES, TO_INTEGER);
        LongVector first = LongVector.broadcast(LONGS, TO_INTEGER_BITS * (1 - addresses.length));
        boolean divides = Integer.bitCount(divisor) > 1;
        long shift = divides ? 0 : Integer.numberOfTrailingZeros(divisor);
        VectorMask<Integer> special = INTS.maskAll(false);
        for (int i = 0; i < elements; i += FLOATS.length()) {
            long at = (long) Float.BYTES * i;
            IntVector codes = IntVector.zero(INTS);
            for (long address : addresses) {
                codes = codes.max(IntVector.fromMemorySegment(INTS, VectorLanes.MEMORY, address + at, VectorLanes.ORDER)
                        .and(Integer.MAX_VALUE));
            }
            codes = codes.lanewise(VectorOperators.LSHR, 23).max(1);
            special = special.or(codes.eq(ReproducibleSum.SPECIAL));
            LongVector exponents = ((LongVector) codes.convertShape(VectorOperators.I2L, LONGS, 0))
                    .neg()
                    .add(biasedExponent);
            DoubleVector scale = power(exponents);
            LongVector sum = first;
            for (long address : addresses) {
                DoubleVector number = (DoubleVector)
                        FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, address + at, VectorLanes.ORDER)
                                .convertShape(VectorOperators.F2D, DOUBLES, 0);
                // The product is exact, so that one rounding is the same as two.
                sum = sum.add(number.fma(scale, toInteger).reinterpretAsLongs());
            }
            DoubleVector result = sum.reinterpretAsDoubles().sub(TO_INTEGER);
            if (divides) {
                result = result.div(divisor);
            }
            LongVector back = exponents.neg().add(2 * Double.MAX_EXPONENT - shift);
            ((FloatVector) result.mul(power(back)).convertShape(VectorOperators.D2F, FLOATS, 0)).intoArray(results, i);
        }
        return !special.anyTrue();
    }

    /** Returns powers of two of biased exponents. */
    private static DoubleVector power(LongVector biased) {
        return biased.lanewise(VectorOperators.LSHL, 52).reinterpretAsDoubles();
    }
}
