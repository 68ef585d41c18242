package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;

/** Computes {@linkplain PairSums reproducible sums} of BF16, which has 8 bits. */
final class BrainSums extends PairSums {
    private static final int MANTISSA_BITS = 7;
    private static final IntVector UPPER = VectorLanes.ints(0xffff0000);
    private static final IntVector ONE = VectorLanes.ints(1);
    private static final IntVector BELOW_HALF = VectorLanes.ints(0x7fff);
    private static final ShortVector EXPONENT = VectorLanes.shorts(0x7f80);
    /** The bits of 2^-70 plus {@link #MAGNITUDE}: no mean of greater numbers is a subnormal float. */
    private static final ShortVector LEAST =
            VectorLanes.shorts(Float.floatToRawIntBits(0x1p-70f) >>> Short.SIZE).add(MAGNITUDE);

    private final ShortVector binades;
    private final ShortVector limit;
    private final FloatVector factor;

    BrainSums(ReproducibleSum sum) {
        super(sum);
        binades = VectorLanes.shorts((16 - sum.guard()) << MANTISSA_BITS);
        limit = VectorLanes.shorts((2 * Float.MAX_EXPONENT - sum.guard()) << MANTISSA_BITS);
        factor = FloatVector.broadcast(FLOATS, 1f / sum.divisor());
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
                even = even.add(even(pairs));
                odd = odd.add(odd(pairs));
            }
            ShortVector apart = greatest.and(EXPONENT).sub(least.sub(MAGNITUDE).and(EXPONENT));
            if (greatest.compare(VectorOperators.GE, limit)
                    .or(least.compare(VectorOperators.LT, LEAST))
                    .or(apart.compare(VectorOperators.GT, binades))
                    .anyTrue()) {
                return i;
            }
            store(even.mul(factor), odd.mul(factor), targets, i);
        }
        return bytes;
    }

    @Override
    FloatVector even(IntVector pairs) {
        return pairs.lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats();
    }

    @Override
    FloatVector odd(IntVector pairs) {
        return pairs.and(UPPER).reinterpretAsFloats();
    }

    /** Rounds as {@link BrainFloat#narrow}. */
    @Override
    void store(FloatVector even, FloatVector odd, long[] targets, int at) {
        IntVector elements = rounded(even)
                .lanewise(VectorOperators.LSHR, Short.SIZE)
                .or(rounded(odd).and(UPPER));
        for (long target : targets) {
            elements.intoMemorySegment(VectorLanes.MEMORY, target + at, VectorLanes.ORDER);
        }
    }

    private static IntVector rounded(FloatVector sums) {
        IntVector bits = sums.reinterpretAsInts();
        return bits.add(bits.lanewise(VectorOperators.LSHR, Short.SIZE).and(ONE))
                .add(BELOW_HALF);
    }
}
