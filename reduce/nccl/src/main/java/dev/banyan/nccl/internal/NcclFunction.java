package dev.banyan.nccl.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.banyan.config.internal.NativeFunction;
import java.lang.foreign.MemoryLayout;

/**
 * The functions of NCCL that Banyan calls and that return {@code ncclResult_t}. Enums and ints are 32 bits, {@code
 * size_t} is 64 bits. Addresses of devices, communicators and streams are passed as 64-bit numbers.
 */
enum NcclFunction {
    GET_VERSION("ncclGetVersion", ADDRESS),
    COMM_INIT_ALL("ncclCommInitAll", ADDRESS, JAVA_INT, ADDRESS),
    GROUP_START("ncclGroupStart"),
    GROUP_END("ncclGroupEnd"),
    /** Takes input, output, count, type, operation, communicator and stream. */
    ALL_REDUCE("ncclAllReduce", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
    /** Takes input, output, count, type, operation, root, communicator and stream. */
    REDUCE("ncclReduce", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
    /** Takes input, output, count, type, root, communicator and stream. */
    BROADCAST("ncclBroadcast", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
    /** Takes input, output, elements of the output, type, operation, communicator and stream. */
    REDUCE_SCATTER("ncclReduceScatter", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_LONG, JAVA_LONG),
    /** Takes input, output, elements of the input, type, communicator and stream. */
    ALL_GATHER("ncclAllGather", JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_LONG),
    /** Since NCCL 2.4. */
    COMM_GET_ASYNC_ERROR("ncclCommGetAsyncError", JAVA_LONG, ADDRESS),
    /** Since NCCL 2.4. */
    COMM_ABORT("ncclCommAbort", JAVA_LONG),
    COMM_DESTROY("ncclCommDestroy", JAVA_LONG);

    @SuppressWarnings("ImmutableEnumChecker") // Handles are immutable.
    final NativeFunction function;

    NcclFunction(String symbol, MemoryLayout... arguments) {
        function = NativeFunction.of(symbol, arguments);
    }
}
