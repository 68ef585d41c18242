package dev.banyan.reduce.internal.loop;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorSpecies;

/** Lanes that are the elements. */
record PlainLanes(VectorSpecies<Object> species) implements LoopLanes {
    @Override
    public int widening() {
        return 1;
    }

    @Override
    public Vector<Object> load(long address) {
        return VectorLanes.load(species, address);
    }

    /** Returns a vector of a value in all lanes. */
    Vector<Object> broadcast(long value) {
        return species.broadcast(value);
    }
}
