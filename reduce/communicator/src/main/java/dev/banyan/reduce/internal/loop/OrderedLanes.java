package dev.banyan.reduce.internal.loop;

import dev.banyan.reduce.internal.kernel.VectorLanes;
import dev.banyan.schedule.type.DataType;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * 16-bit floats of which the least or the greatest is taken, as integers in the order of the floats: negative ones have
 * all bits but the sign inverted. Minus zero is less than zero. NaN is an integer beyond all others, whatever its sign
 * and payload are, and becomes the NaN of {@link dev.banyan.reduce.internal.kernel.ScalarOperators}.
 *
 * @param infinity the bits of the infinity
 * @param nan the integer of NaN: the greatest one, or the least one if the least float is taken
 */
record OrderedLanes(ShortVector infinity, ShortVector nan) implements LoopLanes {
    private static final ShortVector MAGNITUDE = VectorLanes.shorts(Short.MAX_VALUE);

    /** Returns the vectors of F16 or BF16. */
    static OrderedLanes of(DataType type, boolean greatest) {
        return new OrderedLanes(
                VectorLanes.shorts(type == DataType.F16 ? 0x7c00 : 0x7f80),
                VectorLanes.shorts(greatest ? Short.MAX_VALUE : Short.MIN_VALUE));
    }

    @Override
    public VectorSpecies<Object> species() {
        return VectorLanes.SHORTS;
    }

    @Override
    public int widening() {
        return 1;
    }

    @Override
    public Vector<Object> load(long address) {
        ShortVector bits = (ShortVector) (Vector<?>) VectorLanes.load(VectorLanes.SHORTS, address);
        return VectorLanes.untyped(ordered(bits).blend(nan, bits.and(MAGNITUDE).compare(VectorOperators.GT, infinity)));
    }

    @Override
    public Vector<Object> pack(Vector<Object> values) {
        ShortVector integers = (ShortVector) (Vector<?>) values;
        return VectorLanes.untyped(ordered(integers).blend(MAGNITUDE, integers.compare(VectorOperators.EQ, nan)));
    }

    /** Converts bits of floats to integers in their order, and back. */
    private static ShortVector ordered(ShortVector bits) {
        return bits.lanewise(
                VectorOperators.XOR,
                bits.lanewise(VectorOperators.ASHR, Short.SIZE - 1).and(MAGNITUDE));
    }
}
