package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;

/**
 * Computes {@linkplain PairSums reproducible sums} of F16, which has 11 bits. Its exponent, moved to that of a float,
 * makes a float that is 2^-112 times the number, also of a subnormal one. These floats are summed.
 */
final class HalfSums extends PairSums {
    private static final int MANTISSA_BITS = 10;
    /** By how many bits the mantissa of a float is longer. */
    private static final int LONGER = 13;

    private static final float SMALLER = 0x1p-112f;
    /** The power of two that the bits of infinity stand for here. */
    private static final float INFINITY = 0x1p16f;
    /** The sign and the exponent and mantissa of an element that stand in a float. */
    private static final IntVector MOVED = VectorLanes.ints(0x8fffe000);

    private static final IntVector SIGN = VectorLanes.ints(0x80000000);
    private static final IntVector UPPER_MAGNITUDE = VectorLanes.ints(0x7fff0000);
    /** The bits of an exponent, which are those of infinity. */
    private static final ShortVector EXPONENT = VectorLanes.shorts(0x7c00);
    /** The bits of the least normal number. Subnormal numbers are multiples of the same power of two. */
    private static final ShortVector NORMAL = VectorLanes.shorts(1 << MANTISSA_BITS);

    /** The exponent of a float, in place, and that of the least normal number. */
    private static final IntVector FLOAT_EXPONENT = VectorLanes.ints(0x7f800000);

    private static final IntVector LEAST_EXPONENT = VectorLanes.ints(Float.floatToRawIntBits(0x1p-14f));
    /** Adds 13 to an exponent and sets the first bit of the mantissa. */
    private static final IntVector ROUNDING = VectorLanes.ints((LONGER << 23) + (1 << 22));

    private final ShortVector binades;
    private final FloatVector factor;

    HalfSums(ReproducibleSum sum) {
        super(sum);
        binades = VectorLanes.shorts((LONGER - sum.guard()) << MANTISSA_BITS);
        factor = FloatVector.broadcast(FLOATS, 1 / (SMALLER * sum.divisor()));
    }

    @Override
    int exact(long[] sources, long[] targets, int from, int bytes) {
        ShortVector zero = ShortVector.zero(SHORTS);
        for (int i = from; i < bytes; i += VECTOR) {
            ShortVector greatest = zero;
            // A constant as the first value of a loop makes the JIT allocate the values.
            ShortVector least = zero.add(MAGNITUDE);
            FloatVector even = FloatVector.zero(FLOATS);
            FloatVector odd = FloatVector.zero(FLOATS);
            for (long source : sources) {
                IntVector pairs = IntVector.fromMemorySegment(PAIRS, VectorLanes.MEMORY, source + i, VectorLanes.ORDER);
                ShortVector magnitudes = pairs.reinterpretAsShorts().and(MAGNITUDE);
                greatest = greatest.max(magnitudes);
                least = least.min(magnitudes.add(MAGNITUDE));
                even = even.add(moved(pairs.lanewise(VectorOperators.LSHL, Short.SIZE)));
                odd = odd.add(moved(pairs));
            }
            ShortVector apart =
                    greatest.and(EXPONENT).sub(least.sub(MAGNITUDE).max(NORMAL).and(EXPONENT));
            if (greatest.compare(VectorOperators.GE, EXPONENT)
                    .or(apart.compare(VectorOperators.GT, binades))
                    .anyTrue()) {
                return i;
            }
            store(even.mul(factor), odd.mul(factor), targets, i);
        }
        return bytes;
    }

    /** Returns floats that are 2^-112 times the elements in the upper halves. */
    private static FloatVector moved(IntVector pairs) {
        return pairs.lanewise(VectorOperators.ASHR, Short.SIZE - LONGER)
                .and(MOVED)
                .reinterpretAsFloats();
    }

    @Override
    FloatVector even(IntVector pairs) {
        return odd(pairs.lanewise(VectorOperators.LSHL, Short.SIZE));
    }

    @Override
    FloatVector odd(IntVector pairs) {
        FloatVector floats = moved(pairs).mul(1 / SMALLER);
        // FloatSums leaves infinities out, as it does NaN.
        return floats.blend(Float.NaN, floats.abs().compare(VectorOperators.GE, INFINITY));
    }

    @Override
    void store(FloatVector even, FloatVector odd, long[] targets, int at) {
        IntVector elements =
                upper(even).lanewise(VectorOperators.LSHR, Short.SIZE).or(upper(odd));
        for (long target : targets) {
            elements.intoMemorySegment(VectorLanes.MEMORY, target + at, VectorLanes.ORDER);
        }
    }

    /** Returns the nearest elements, ties to even, in the upper halves. */
    private static IntVector upper(FloatVector sums) {
        IntVector bits = sums.reinterpretAsInts();
        FloatVector large =
                bits.and(FLOAT_EXPONENT).max(LEAST_EXPONENT).add(ROUNDING).reinterpretAsFloats();
        return sums.add(large)
                .sub(large)
                .min(INFINITY)
                .max(-INFINITY)
                .mul(SMALLER)
                .reinterpretAsInts()
                .lanewise(VectorOperators.LSHL, Short.SIZE - LONGER)
                .and(UPPER_MAGNITUDE)
                .or(bits.and(SIGN));
    }
}
