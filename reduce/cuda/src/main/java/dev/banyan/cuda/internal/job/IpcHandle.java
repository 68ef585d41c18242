package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.CudaLibrary;
import dev.banyan.cuda.type.CudaException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import jcuda.driver.CUresult;

/**
 * The driver's handles of memory that other processes may open. JCuda keeps their bytes to itself, so this calls the
 * driver itself. Calls go to the current context.
 */
final class IpcHandle {
    static final int BYTES = 64;
    private static final int LAZY_ENABLE_PEER_ACCESS = 1;

    private IpcHandle() {}

    /** Returns the handle of memory of the current context that begins at an address. */
    static byte[] of(long address) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(BYTES, 8);
            Cuda.check(call(Symbols.GET, handle, address), "cuIpcGetMemHandle");
            return handle.toArray(ValueLayout.JAVA_BYTE);
        }
    }

    /**
     * Opens memory of another process in the current context, and returns where it begins there.
     *
     * @param viewer the device of that context
     * @param owners the ranks whose memory it is, for messages
     * @throws CudaException if the driver refuses that
     */
    static long open(byte[] handle, CudaDevice viewer, String owners) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment address = arena.allocate(ValueLayout.JAVA_LONG);
            MemorySegment copy = arena.allocate(Symbols.HANDLE);
            MemorySegment.copy(handle, 0, copy, ValueLayout.JAVA_BYTE, 0, BYTES);
            int result = call(Symbols.OPEN, address, copy);
            if (result != CUresult.CUDA_SUCCESS) {
                throw new CudaException("device " + viewer.ordinal() + " cannot open the memory of " + owners + ": "
                        + Cuda.name(result)
                        + (result == CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
                                ? "; the devices have no peer access (nvidia-smi topo -p2p r lists the reasons), so"
                                        + " hold their ranks in one process"
                                : "; containers of one job need one IPC and PID namespace (--ipc=host --pid=host)"));
            }
            return address.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Closes memory that was opened in the current context. */
    static void close(long address) {
        Cuda.check(call(Symbols.CLOSE, address), "cuIpcCloseMemHandle");
    }

    private static int call(MethodHandle function, MemorySegment handle, long address) {
        try {
            return (int) function.invokeExact(handle, address);
        } catch (Throwable e) {
            throw new IllegalStateException("the driver throws nothing", e);
        }
    }

    private static int call(MethodHandle function, MemorySegment address, MemorySegment handle) {
        try {
            return (int) function.invokeExact(address, handle, LAZY_ENABLE_PEER_ACCESS);
        } catch (Throwable e) {
            throw new IllegalStateException("the driver throws nothing", e);
        }
    }

    private static int call(MethodHandle function, long address) {
        try {
            return (int) function.invokeExact(address);
        } catch (Throwable e) {
            throw new IllegalStateException("the driver throws nothing", e);
        }
    }

    /** Found when they are needed, after the driver has been loaded. */
    private static final class Symbols {
        static final StructLayout HANDLE =
                MemoryLayout.structLayout(MemoryLayout.sequenceLayout(BYTES, ValueLayout.JAVA_BYTE));
        static final MethodHandle GET = function(
                "cuIpcGetMemHandle",
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
        static final MethodHandle OPEN = function(
                "cuIpcOpenMemHandle_v2",
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, HANDLE, ValueLayout.JAVA_INT));
        static final MethodHandle CLOSE =
                function("cuIpcCloseMemHandle", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));

        @SuppressWarnings("restricted")
        private static MethodHandle function(String name, FunctionDescriptor descriptor) {
            return Linker.nativeLinker()
                    .downcallHandle(
                            SymbolLookup.libraryLookup(CudaLibrary.DRIVER, Arena.global())
                                    .findOrThrow(name),
                            descriptor);
        }
    }
}
