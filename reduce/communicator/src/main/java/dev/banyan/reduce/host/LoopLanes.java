package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorSpecies;

/**
 * The vectors of a generated loop: how they are read from memory, and what is written of them. Types whose results are
 * not computed in the type itself have wider lanes in the loop than elements in memory.
 *
 * <p>All vectors have the processor's full length. Constants are vectors, too: a scalar operand takes the JIT nearly
 * twice as many nodes.
 *
 * <p>An implementation has no state but constants, and its longer methods have no calls of their own, so that the
 * compiler of the loop inlines it: see {@link LoopGenerator}. Needs the module jdk.incubator.vector; it must not be
 * touched where that is missing.
 */
sealed interface LoopLanes permits PlainLanes, PairLanes, OrderedLanes, ByteMeanLanes, IntMeanLanes, LongMeanLanes {
    /**
     * Returns the vectors of a type; for sums and products of F16 those of a loop that {@link HalfLanes#serve}.
     *
     * @param op how values are combined; not AVG
     * @param integerMean whether sums of integers must not overflow, since they are divided
     */
    static LoopLanes of(DataType type, ReduceOp op, boolean integerMean) {
        if (integerMean) {
            return switch (type) {
                case I8, U8 -> new ByteMeanLanes(type == DataType.U8);
                case I32 -> new IntMeanLanes();
                case I64 -> new LongMeanLanes();
                default -> throw new IllegalArgumentException("no vectors for means of " + type);
            };
        }
        return switch (type) {
            case F16, BF16 ->
                switch (op) {
                    case MIN, MAX -> OrderedLanes.of(type, op == ReduceOp.MAX);
                    default -> type == DataType.F16 ? new HalfLanes(op == ReduceOp.PROD) : new BrainLanes();
                };
            default -> new PlainLanes(VectorLanes.species(type));
        };
    }

    /**
     * Returns whether there are vectors of a type for so many ranks.
     *
     * @param integerMean see {@link #of}
     */
    static boolean exist(DataType type, boolean integerMean, int ranks) {
        if (!integerMean) {
            return type != DataType.F16 || ranks <= HalfLanes.MOST_RANKS;
        }
        return switch (type) {
            case I8, U8 -> ranks <= ByteMeanLanes.MOST_RANKS;
            case I32 -> ranks <= IntMeanLanes.MOST_RANKS;
            case I64 -> ranks <= LongMeanLanes.MOST_RANKS;
            default -> false;
        };
    }

    /** Returns the vectors of values in the loop. */
    VectorSpecies<Object> species();

    /** Returns the vectors of elements as they are in memory, which have the same length in bytes. */
    default VectorSpecies<Object> elements() {
        return species();
    }

    /** Returns how many times as long values are in the loop as the elements in memory. */
    int widening();

    /**
     * Returns the number of vectors that hold values: 1, or 2 where sums are longer than a lane, or where a vector of
     * elements becomes two of wider lanes.
     */
    default int parts() {
        return 1;
    }

    /** Returns whether both parts together are a sum, so that they become one mean. */
    default boolean partsMeet() {
        return false;
    }

    /** Reads elements: values of one part, or a vector of which {@link #lower} and {@link #upper} are the parts. */
    Vector<Object> load(long address);

    /** Returns the first of two parts of values. */
    default Vector<Object> lower(Vector<Object> elements) {
        throw new UnsupportedOperationException("values of one part");
    }

    /** Returns the second of two parts of values. */
    default Vector<Object> upper(Vector<Object> elements) {
        throw new UnsupportedOperationException("values of one part");
    }

    /**
     * Returns whether values are right for usual elements only. A loop of such lanes has two parts. It stops unless
     * the elements that it reads are below {@link #unusual}, and rounded values, what {@link #ofPrivate} makes of
     * values from private memory, and, with {@link #smallResults}, results below {@link #tooGreat}. It compares them
     * itself: the JIT does not inline methods that it has compiled by themselves into much code.
     */
    default boolean guarded() {
        return false;
    }

    /** Returns the magnitudes of elements, in a vector of {@link VectorLanes#SHORTS}. */
    default Vector<Object> magnitudes(Vector<Object> elements) {
        throw new UnsupportedOperationException("right for all elements");
    }

    /** Returns the greater ones of other magnitudes and those of elements. */
    default Vector<Object> greaterMagnitudes(Vector<Object> others, Vector<Object> elements) {
        throw new UnsupportedOperationException("right for all elements");
    }

    /** Returns the least magnitudes for which values are not right. */
    default Vector<Object> unusual() {
        throw new UnsupportedOperationException("right for all elements");
    }

    /** Returns whether results that are not for private memory must be below {@link #tooGreat}, too. */
    default boolean smallResults() {
        return false;
    }

    /** Returns vectors that are small where values from private memory are finite. */
    default Vector<Object> ofPrivate(Vector<Object> values) {
        throw new UnsupportedOperationException("right for all values");
    }

    /** Returns the sizes of values, in a vector of integers. */
    default Vector<Object> sizes(Vector<Object> values) {
        throw new UnsupportedOperationException("right for all values");
    }

    /** Returns the greater ones of other sizes and those of values. */
    default Vector<Object> greaterSizes(Vector<Object> others, Vector<Object> values) {
        throw new UnsupportedOperationException("right for all values");
    }

    /** Returns the least sizes of which values are not right. */
    default Vector<Object> tooGreat() {
        throw new UnsupportedOperationException("right for all values");
    }

    /** Returns what {@link #mean} takes for a divisor. */
    default Vector<Object> divisors(int divisor) {
        return species().broadcast(divisor);
    }

    /** Returns the reciprocal of a power of two; or what {@link #pack(Vector, Vector)} takes for it. */
    default Vector<Object> factors(int divisor) {
        return species().broadcast(1).div(species().broadcast(divisor));
    }

    /** Divides values. */
    default Vector<Object> mean(Vector<Object> values, Vector<Object> divisors) {
        return values.div(divisors);
    }

    /** Divides sums whose {@linkplain #partsMeet parts meet}, and returns the elements as they are in memory. */
    default Vector<Object> mean(Vector<Object> values, Vector<Object> uppers, Vector<Object> divisors) {
        throw new UnsupportedOperationException("parts that do not meet");
    }

    /** Rounds values to the elements' type; nothing to do where lanes hold no more than elements. */
    default Vector<Object> round(Vector<Object> values) {
        return values;
    }

    /** Returns the elements of rounded values as they are in memory; of one of two parts, what {@link #join} takes. */
    default Vector<Object> pack(Vector<Object> values) {
        return values;
    }

    /** Returns whether values are divided by a power of two only when they are packed, all of them, if by 1. */
    default boolean scaleWhenPacked() {
        return false;
    }

    /** Divides, rounds and packs values of one of two parts. */
    default Vector<Object> pack(Vector<Object> values, Vector<Object> factors) {
        throw new UnsupportedOperationException("divided before");
    }

    /** Returns the elements of two packed parts as they are in memory. */
    default Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        throw new UnsupportedOperationException("values of one part, or parts that meet");
    }
}
