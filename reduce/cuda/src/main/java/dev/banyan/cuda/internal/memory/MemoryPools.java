package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.CUresult;

/** Opens pools of stream-ordered memory to devices. JCuda has no binding of that function. */
final class MemoryPools {
    private static final MethodHandle SET_ACCESS = setAccess();

    private MemoryPools() {}

    @SuppressWarnings("restricted")
    private static MethodHandle setAccess() {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup(CudaLibrary.DRIVER, Arena.global())
                                .find("cuMemPoolSetAccess")
                                .orElseThrow(),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
    }

    /** Lets a device read and write all memory of a pool, and returns whether the driver does that. */
    static boolean open(long pool, int ordinal) {
        try (Arena arena = Arena.ofConfined()) {
            // CUmemAccessDesc: the type and the number of the location, and the flags.
            MemorySegment access = arena.allocateFrom(
                    ValueLayout.JAVA_INT,
                    CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE,
                    ordinal,
                    CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
            int result = (int) SET_ACCESS.invokeExact(MemorySegment.ofAddress(pool), access, 1L);
            return result == CUresult.CUDA_SUCCESS;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("cuMemPoolSetAccess can't be called", e);
        }
    }
}
