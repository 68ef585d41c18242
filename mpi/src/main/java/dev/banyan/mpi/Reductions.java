package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.reduce.internal.host.Combiner;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.EnumMap;
import java.util.Map;

/**
 * The handles of MPI's types and operations. Banyan defines the operations that MPI lacks: those on 16-bit types, and
 * minimum and maximum of floating-point types, which MPI leaves undefined if an element is NaN. MPI calls these with
 * whole pieces of arrays. Safe for use from any thread.
 */
final class Reductions {
    private final MpiLibrary mpi;
    private final Map<DataType, Map<ReduceOp, MemorySegment>> operations = new EnumMap<>(DataType.class);

    Reductions(MpiLibrary mpi) {
        this.mpi = mpi;
    }

    /** Returns the handle of a type. A 16-bit floating-point type is represented by an integer type of its size. */
    MemorySegment type(DataType type) {
        return mpi.handle(
                switch (type) {
                    case F32 -> "ompi_mpi_float";
                    case F64 -> "ompi_mpi_double";
                    case F16, BF16 -> "ompi_mpi_uint16_t";
                    case I8 -> "ompi_mpi_int8_t";
                    case U8 -> "ompi_mpi_uint8_t";
                    case I32 -> "ompi_mpi_int32_t";
                    case I64 -> "ompi_mpi_int64_t";
                });
    }

    /** Returns the handle of an operation on a type. AVG is represented by the sum. */
    synchronized MemorySegment operation(DataType type, ReduceOp op) {
        return operations
                .computeIfAbsent(type, t -> new EnumMap<>(ReduceOp.class))
                .computeIfAbsent(op == ReduceOp.AVG ? ReduceOp.SUM : op, o -> make(type, o));
    }

    private MemorySegment make(DataType type, ReduceOp op) {
        boolean compares = op == ReduceOp.MIN || op == ReduceOp.MAX;
        if (type.isFloating() && (type.bytes() == Short.BYTES || compares)) {
            return mpi.made(MpiCall.OP_CREATE, Function.stub(type, op), 1);
        }
        return mpi.handle(
                switch (op) {
                    case SUM, AVG -> "ompi_mpi_op_sum";
                    case PROD -> "ompi_mpi_op_prod";
                    case MIN -> "ompi_mpi_op_min";
                    case MAX -> "ompi_mpi_op_max";
                });
    }

    /** An operation of Banyan, which MPI calls as an {@code MPI_User_function}. */
    private static final class Function {
        @SuppressWarnings("restricted")
        private static final AddressLayout MEMORY =
                ADDRESS.withTargetLayout(MemoryLayout.sequenceLayout(Long.MAX_VALUE, JAVA_BYTE));

        private final int elementBytes;
        private final ThreadLocal<Combiner> combiner;

        private Function(DataType type, ReduceOp op) {
            elementBytes = type.bytes();
            combiner = ThreadLocal.withInitial(() -> new Combiner(type, op));
        }

        @SuppressWarnings("restricted")
        static MemorySegment stub(DataType type, ReduceOp op) {
            try {
                return Linker.nativeLinker()
                        .upcallStub(
                                MethodHandles.lookup()
                                        .findVirtual(
                                                Function.class,
                                                "reduce",
                                                MethodType.methodType(
                                                        void.class,
                                                        MemorySegment.class,
                                                        MemorySegment.class,
                                                        MemorySegment.class,
                                                        MemorySegment.class))
                                        .bindTo(new Function(type, op)),
                                FunctionDescriptor.ofVoid(MEMORY, MEMORY, MEMORY, ADDRESS),
                                Arena.global());
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("the method is in this class", e);
            }
        }

        @SuppressWarnings("unused") // by MPI
        void reduce(MemorySegment source, MemorySegment target, MemorySegment length, MemorySegment type) {
            long elements = length.get(JAVA_INT, 0);
            combiner.get()
                    .combine(
                            source.asSlice(0, elements * elementBytes),
                            target.asSlice(0, elements * elementBytes),
                            elements);
        }
    }
}
