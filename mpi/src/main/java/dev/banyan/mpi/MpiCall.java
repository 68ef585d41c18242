package dev.banyan.mpi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import dev.banyan.config.internal.NativeFunction;
import java.lang.foreign.MemoryLayout;

/**
 * The functions of Open MPI that Banyan calls. All return an error code. Handles (communicators, types, operations)
 * are pointers; counts and ranks have 32 bits.
 *
 * <p>There is no nonblocking collective among them: Open MPI's nonblocking reductions read memory of GPUs on the host
 * and crash (<a href="https://github.com/open-mpi/ompi/issues/9845">open-mpi/ompi#9845</a>). What overlaps with a call
 * runs on another thread.
 */
enum MpiCall {
    INIT_THREAD("MPI_Init_thread", ADDRESS, ADDRESS, JAVA_INT, ADDRESS),
    INITIALIZED("MPI_Initialized", ADDRESS),
    QUERY_THREAD("MPI_Query_thread", ADDRESS),
    FINALIZE("MPI_Finalize"),
    LIBRARY_VERSION("MPI_Get_library_version", ADDRESS, ADDRESS),
    ERROR_STRING("MPI_Error_string", JAVA_INT, ADDRESS, ADDRESS),
    SET_ERRHANDLER("MPI_Comm_set_errhandler", ADDRESS, ADDRESS),
    RANK("MPI_Comm_rank", ADDRESS, ADDRESS),
    SIZE("MPI_Comm_size", ADDRESS, ADDRESS),
    DUP("MPI_Comm_dup", ADDRESS, ADDRESS),
    SPLIT("MPI_Comm_split", ADDRESS, JAVA_INT, JAVA_INT, ADDRESS),
    SPLIT_TYPE("MPI_Comm_split_type", ADDRESS, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS),
    FREE("MPI_Comm_free", ADDRESS),
    BROADCAST("MPI_Bcast", ADDRESS, JAVA_INT, ADDRESS, JAVA_INT, ADDRESS),
    ALL_REDUCE("MPI_Allreduce", ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS, ADDRESS),
    ALL_GATHER("MPI_Allgather", ADDRESS, JAVA_INT, ADDRESS, ADDRESS, JAVA_INT, ADDRESS, ADDRESS),
    BARRIER("MPI_Barrier", ADDRESS),
    OP_CREATE("MPI_Op_create", ADDRESS, JAVA_INT, ADDRESS),
    /** An extension of Open MPI, which a library may lack; it returns 1 or 0 in place of a code. */
    CUDA_SUPPORT("MPIX_Query_cuda_support");

    @SuppressWarnings("ImmutableEnumChecker") // Handles are immutable.
    final NativeFunction function;

    MpiCall(String symbol, MemoryLayout... arguments) {
        function = NativeFunction.of(symbol, arguments);
    }
}
