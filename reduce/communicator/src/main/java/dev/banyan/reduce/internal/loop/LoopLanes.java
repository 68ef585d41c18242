package dev.banyan.reduce.internal.loop;

import dev.banyan.reduce.internal.kernel.VectorLanes;
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
public sealed interface LoopLanes permits PlainLanes, BrainLanes, OrderedLanes, ExtremeLanes {
    /**
     * Returns the vectors of a type.
     *
     * @param type not F16 if values are added or multiplied
     * @param op how values are combined; not AVG
     */
    static LoopLanes of(DataType type, ReduceOp op) {
        if (VectorLanes.isExtreme(type, op)) {
            return type.bytes() == Short.BYTES ? OrderedLanes.of(type, op == ReduceOp.MAX) : ExtremeLanes.of(type);
        }
        return type == DataType.BF16 ? new BrainLanes() : new PlainLanes(VectorLanes.species(type));
    }

    /** Returns the vectors of values in the loop. */
    VectorSpecies<Object> species();

    /** Returns the vectors of elements as they are in memory, which have the same length in bytes. */
    default VectorSpecies<Object> elements() {
        return species();
    }

    /**
     * Returns how many times as long values are in the loop as the elements in memory, 1 or 2. As many vectors, the
     * parts, hold the values of a vector of elements.
     */
    int widening();

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

    /** Rounds values to the elements' type; nothing to do where lanes hold no more than elements. */
    default Vector<Object> round(Vector<Object> values) {
        return values;
    }

    /** Returns the elements of rounded values of one part as they are in memory. */
    default Vector<Object> pack(Vector<Object> values) {
        return values;
    }

    /** Returns the elements of two rounded parts as they are in memory. */
    default Vector<Object> join(Vector<Object> lower, Vector<Object> upper) {
        throw new UnsupportedOperationException("values of one part");
    }
}
