package dev.banyan.reduce.internal.loop;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Floats of 32 or 64 bits of which the least or the greatest is taken.
 *
 * @param nan replaces each result that is NaN
 */
record ExtremeLanes(VectorSpecies<Object> species, Vector<Object> nan) implements LoopLanes {
    /** Returns the vectors of F32 or F64. */
    static ExtremeLanes of(DataType type) {
        return new ExtremeLanes(VectorLanes.species(type), VectorLanes.nan(type));
    }

    @Override
    public int widening() {
        return 1;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(species, address);
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        return values.blend(nan, values.test(VectorOperators.IS_NAN));
    }
}
