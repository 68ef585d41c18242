package dev.banyan.reduce.host;

import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorSpecies;

/**
 * 16-bit floats that are computed as 32-bit floats. A vector of integers holds pairs of elements: those in the lower
 * halves are the first part of a value, those in the upper halves the second one, so that nothing moves from lane to
 * lane.
 */
sealed interface PairLanes extends LoopLanes permits BrainLanes, HalfLanes {
    VectorSpecies<Object> FLOATS = VectorLanes.species(DataType.F32);
    VectorSpecies<Object> INTS = VectorLanes.species(DataType.I32);

    @Override
    default VectorSpecies<Object> species() {
        return FLOATS;
    }

    @Override
    default VectorSpecies<Object> elements() {
        return INTS;
    }

    @Override
    default int widening() {
        return 2;
    }

    @Override
    default int parts() {
        return 2;
    }

    @Override
    default Vector<Object> load(long address) {
        return VectorLanes.load(INTS, address);
    }
}
