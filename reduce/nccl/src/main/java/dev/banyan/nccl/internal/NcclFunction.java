package dev.banyan.nccl.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

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

    private final String symbol;
    /** Takes the address of the function and an array of its arguments, and returns the result. */
    @SuppressWarnings("ImmutableEnumChecker") // Handles are immutable.
    private final MethodHandle handle;

    @SuppressWarnings("restricted")
    NcclFunction(String symbol, MemoryLayout... arguments) {
        this.symbol = symbol;
        handle = Linker.nativeLinker()
                .downcallHandle(FunctionDescriptor.of(JAVA_INT, arguments))
                .asSpreader(Object[].class, arguments.length);
    }

    String symbol() {
        return symbol;
    }

    /**
     * Calls the function at an address.
     *
     * @param arguments the arguments of the C function: segments, ints and longs
     * @return its {@code ncclResult_t}
     */
    int invoke(MemorySegment function, Object... arguments) {
        try {
            return (int) handle.invokeExact(function, arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("native functions throw no checked exceptions", e);
        }
    }
}
