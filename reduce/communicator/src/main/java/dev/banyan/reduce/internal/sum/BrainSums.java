package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.BrainFloat;
import dev.banyan.reduce.internal.kernel.VectorLanes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Stream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} of BF16 whose integers have 32 bits, with vectors. A vector
 * holds pairs of elements; those of even and of odd index become two vectors of floats, so that nothing moves from lane
 * to lane. Needs the module jdk.incubator.vector.
 *
 * <p>A sum of floats is exact in any order if the numbers are multiples of a power of two and their magnitudes add up
 * to at most 2^24 times it. A brain float has 8 bits, so this holds where the exponents of n numbers differ by at most
 * 16 - log2 n, zeros apart; the integers of the definition are exact then, too. {@link FloatSums} sums the others,
 * unless some are tiny or not finite.
 */
final class BrainSums implements VectorSums {
    private static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Integer> PAIRS = IntVector.SPECIES_PREFERRED;
    private static final VectorSpecies<Short> SHORTS = ShortVector.SPECIES_PREFERRED;
    private static final int VECTOR = SHORTS.vectorByteSize();
    private static final int MANTISSA_BITS = 7;
    // These are vectors since the JIT takes twice as many nodes for a scalar, and it inlines up to a number of nodes.
    private static final IntVector UPPER = VectorLanes.ints(0xffff0000);
    private static final IntVector ONE = VectorLanes.ints(1);
    private static final IntVector BELOW_HALF = VectorLanes.ints(0x7fff);
    private static final ShortVector EXPONENT = VectorLanes.shorts(0x7f80);
    /**
     * The bits of a magnitude. Its sum with them is, among signed numbers of 16 bits, least for the least nonzero
     * magnitude, and greatest for zero.
     */
    private static final ShortVector MAGNITUDE = VectorLanes.shorts(Short.MAX_VALUE);
    /** The bits of 2^-70 plus {@link #MAGNITUDE}: no mean of greater numbers is a subnormal float. */
    private static final ShortVector LEAST =
            VectorLanes.shorts(Float.floatToRawIntBits(0x1p-70f) >>> Short.SIZE).add(MAGNITUDE);

    private final FloatSums floats;
    private final ShortVector binades;
    private final ShortVector limit;
    private final FloatVector factor;
    /** The floats of a vector of each contribution, in memory of the garbage collector. */
    private final MemorySegment[] memory;

    private final long[] wide;
    private final long[] result;

    BrainSums(ReproducibleSum sum) {
        floats = new FloatSums(sum);
        binades = VectorLanes.shorts((16 - sum.guard()) << MANTISSA_BITS);
        limit = VectorLanes.shorts((2 * Float.MAX_EXPONENT - sum.guard()) << MANTISSA_BITS);
        factor = FloatVector.broadcast(FLOATS, 1f / sum.divisor());
        memory = Stream.generate(() -> Arena.ofAuto().allocate(2L * VECTOR, 64))
                .limit(sum.contributions())
                .toArray(MemorySegment[]::new);
        wide = Arrays.stream(memory).mapToLong(MemorySegment::address).toArray();
        result = new long[] {wide[0]};
    }

    @Override
    public int lanes() {
        return SHORTS.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        int bytes = elements * Short.BYTES;
        int done = exact(sources, targets, 0, bytes, binades, limit, factor);
        while (done < bytes && rounded(sources, targets, done)) {
            done = exact(sources, targets, done + VECTOR, bytes, binades, limit, factor);
        }
        return done / Short.BYTES;
    }

    /**
     * Sums vectors until it meets one with a sum of floats that may be inexact, or with tiny, great or no numbers, and
     * returns its place in bytes.
     */
    private static int exact(
            long[] sources,
            long[] targets,
            int from,
            int bytes,
            ShortVector binades,
            ShortVector limit,
            FloatVector factor) {
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
                even = even.add(pairs.lanewise(VectorOperators.LSHL, Short.SIZE).reinterpretAsFloats());
                odd = odd.add(pairs.and(UPPER).reinterpretAsFloats());
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

    /** Sums one vector by integers unless it has numbers that {@link FloatSums} leaves out. */
    private boolean rounded(long[] sources, long[] targets, int at) {
        for (int s = 0; s < sources.length; s++) {
            IntVector pairs =
                    IntVector.fromMemorySegment(PAIRS, VectorLanes.MEMORY, sources[s] + at, VectorLanes.ORDER);
            pairs.lanewise(VectorOperators.LSHL, Short.SIZE)
                    .intoMemorySegment(VectorLanes.MEMORY, wide[s], VectorLanes.ORDER);
            pairs.and(UPPER).intoMemorySegment(VectorLanes.MEMORY, wide[s] + VECTOR, VectorLanes.ORDER);
        }
        if (floats.sum(wide, result, SHORTS.length()) < SHORTS.length()) {
            return false;
        }
        store(
                FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, wide[0], VectorLanes.ORDER),
                FloatVector.fromMemorySegment(FLOATS, VectorLanes.MEMORY, wide[0] + VECTOR, VectorLanes.ORDER),
                targets,
                at);
        return true;
    }

    /** Rounds to nearest, ties to even, as {@link BrainFloat#narrow}; no sum here is a NaN. */
    private static void store(FloatVector even, FloatVector odd, long[] targets, int at) {
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
