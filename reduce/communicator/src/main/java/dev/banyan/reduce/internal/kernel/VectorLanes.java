package dev.banyan.reduce.internal.kernel;

import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Objects;
import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.LongVector;
import jdk.incubator.vector.ShortVector;
import jdk.incubator.vector.Vector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * The vector operations of kernels and generated loops. Where species and operation are constants of the caller, the
 * compiler sees vectors of one kind.
 *
 * <p>Needs the module jdk.incubator.vector; it must not be touched where that is missing.
 */
public final class VectorLanes {
    public static final ByteOrder ORDER = ByteOrder.nativeOrder();

    /**
     * All native memory, in a scope that never closes. With segments of several scopes and lengths, the compiler moves
     * checks out of the loop on the evidence of its profile, then discards the loop (profile_predicate) and compiles it
     * again, without end: that is over ten times slower.
     */
    @SuppressWarnings("restricted")
    public static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    /** The longest vectors of 16-bit integers. */
    @SuppressWarnings("unchecked") // what the element type is matters to no method used here
    public static final VectorSpecies<Object> SHORTS =
            (VectorSpecies<Object>) (VectorSpecies<?>) ShortVector.SPECIES_PREFERRED;

    private VectorLanes() {}

    /** Returns the longest vectors of a type; of 32-bit floats for the 16-bit types. */
    @SuppressWarnings("unchecked") // what the element type is matters to no method used here
    public static VectorSpecies<Object> species(DataType type) {
        VectorSpecies<?> species = switch (type) {
            case F32, F16, BF16 -> FloatVector.SPECIES_PREFERRED;
            case F64 -> DoubleVector.SPECIES_PREFERRED;
            case I8, U8 -> ByteVector.SPECIES_PREFERRED;
            case I32 -> IntVector.SPECIES_PREFERRED;
            case I64 -> LongVector.SPECIES_PREFERRED;
        };
        return (VectorSpecies<Object>) species;
    }

    public static VectorOperators.Associative operator(DataType type, ReduceOp op) {
        boolean unsigned = type == DataType.U8;
        return switch (op) {
            case SUM, AVG -> VectorOperators.ADD;
            case PROD -> VectorOperators.MUL;
            case MIN -> unsigned ? VectorOperators.UMIN : VectorOperators.MIN;
            case MAX -> unsigned ? VectorOperators.UMAX : VectorOperators.MAX;
        };
    }

    /** Returns whether an operation takes the least or the greatest float. */
    public static boolean isExtreme(DataType type, ReduceOp op) {
        return type.isFloating() && (op == ReduceOp.MIN || op == ReduceOp.MAX);
    }

    /** Returns a vector of the NaN that {@link ScalarOperators} gives, of F32 or F64. */
    public static Vector<Object> nan(DataType type) {
        return untyped(
                type == DataType.F64
                        ? LongVector.broadcast(LongVector.SPECIES_PREFERRED, Long.MAX_VALUE)
                                .reinterpretAsDoubles()
                        : ints(Integer.MAX_VALUE).reinterpretAsFloats());
    }

    /** Returns the address of bytes of a segment, which must contain them all; its owner keeps it open. */
    public static long address(MemorySegment segment, long offset, int bytes) {
        Objects.checkFromIndexSize(offset, bytes, segment.byteSize());
        return segment.address() + offset;
    }

    public static void copy(long from, long to, long bytes) {
        MemorySegment.copy(MEMORY, from, MEMORY, to, bytes);
    }

    /** Returns a constant of loops. */
    public static ShortVector shorts(int lane) {
        return ShortVector.broadcast(ShortVector.SPECIES_PREFERRED, (short) lane);
    }

    /** Returns a constant of loops. */
    public static IntVector ints(int lane) {
        return IntVector.broadcast(IntVector.SPECIES_PREFERRED, lane);
    }

    public static <E> Vector<E> load(VectorSpecies<E> species, long address) {
        return species.fromMemorySegment(MEMORY, address, ORDER);
    }

    public static void store(Vector<Object> vector, long address) {
        vector.intoMemorySegment(MEMORY, address, ORDER);
    }

    /** Returns the vector as one whose element type only the caller knows. */
    @SuppressWarnings("unchecked")
    public static Vector<Object> untyped(Vector<?> vector) {
        return (Vector<Object>) vector;
    }
}
