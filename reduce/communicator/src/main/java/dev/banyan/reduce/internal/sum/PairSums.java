package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.Stream;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Computes {@linkplain ReproducibleSum reproducible sums} of floats of 16 bits whose integers have 32 bits, with
 * vectors. A vector holds pairs of elements; those of even and of odd index become two vectors of floats, so that
 * nothing moves from lane to lane. Needs the module jdk.incubator.vector.
 *
 * <p>A sum of floats is exact in any order if the numbers are multiples of a power of two and their magnitudes add up
 * to at most 2^24 times it. With p bits a number, this holds where the exponents of n numbers differ by at most
 * 24 - p - log2 n, zeros apart; the integers of the definition are exact then, too. {@link FloatSums} sums the others,
 * unless some are tiny or not finite.
 *
 * <p>Constants are vectors since the JIT takes twice as many nodes for a scalar, and it inlines up to a number of
 * nodes.
 */
abstract sealed class PairSums implements VectorSums permits BrainSums, HalfSums {
    static final VectorSpecies<Float> FLOATS = FloatVector.SPECIES_PREFERRED;
    static final VectorSpecies<Integer> PAIRS = IntVector.SPECIES_PREFERRED;
    static final VectorSpecies<Short> SHORTS = ShortVector.SPECIES_PREFERRED;
    static final int VECTOR = SHORTS.vectorByteSize();
    /**
     * The bits of a magnitude. Its sum with them is, among signed numbers of 16 bits, least for the least nonzero
     * magnitude, and greatest for zero.
     */
    static final ShortVector MAGNITUDE = VectorLanes.shorts(Short.MAX_VALUE);

    private final FloatSums floats;
    /** The floats of a vector of each contribution, in memory of the garbage collector. */
    private final MemorySegment[] memory;

    private final long[] wide;
    private final long[] result;

    PairSums(ReproducibleSum sum) {
        floats = new FloatSums(sum);
        memory = Stream.generate(() -> Arena.ofAuto().allocate(2L * VECTOR, 64))
                .limit(sum.contributions())
                .toArray(MemorySegment[]::new);
        wide = Arrays.stream(memory).mapToLong(MemorySegment::address).toArray();
        result = new long[] {wide[0]};
    }

    /**
     * Sums vectors until it meets one with a sum of floats that may be inexact, or with numbers that are tiny, great or
     * NaN.
     *
     * @param from the place of the first vector, in bytes
     * @return the place of the first vector that is not summed, in bytes
     */
    abstract int exact(long[] sources, long[] targets, int from, int bytes);

    /** Returns the elements of even index as floats. */
    abstract FloatVector even(IntVector pairs);

    /** Returns the elements of odd index as floats. */
    abstract FloatVector odd(IntVector pairs);

    /** Rounds the results of a vector to nearest, ties to even, and writes them; none is a NaN. */
    abstract void store(FloatVector even, FloatVector odd, long[] targets, int at);

    @Override
    public int lanes() {
        return SHORTS.length();
    }

    @Override
    public int sum(long[] sources, long[] targets, int elements) {
        int bytes = elements * Short.BYTES;
        int done = exact(sources, targets, 0, bytes);
        while (done < bytes && rounded(sources, targets, done)) {
            done = exact(sources, targets, done + VECTOR, bytes);
        }
        return done / Short.BYTES;
    }

    /** Sums one vector by integers unless it has numbers that {@link FloatSums} leaves out. */
    private boolean rounded(long[] sources, long[] targets, int at) {
        for (int s = 0; s < sources.length; s++) {
            IntVector pairs =
                    IntVector.fromMemorySegment(PAIRS, VectorLanes.MEMORY, sources[s] + at, VectorLanes.ORDER);
            even(pairs).intoMemorySegment(VectorLanes.MEMORY, wide[s], VectorLanes.ORDER);
            odd(pairs).intoMemorySegment(VectorLanes.MEMORY, wide[s] + VECTOR, VectorLanes.ORDER);
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
}
