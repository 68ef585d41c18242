package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.util.List;
import jcuda.driver.CUresult;

/** Opens pools of stream-ordered memory to devices. JCuda has no binding of that function. */
public final class MemoryPools {
    private MemoryPools() {}

    /** Lets a device read and write all memory of a pool, and returns whether the driver does that. */
    public static boolean open(long pool, int ordinal) {
        try (Arena arena = Arena.ofConfined()) {
            return DriverCalls.call("cuMemPoolSetAccess", pool, MappedMemory.access(arena, List.of(ordinal)), 1L)
                    == CUresult.CUDA_SUCCESS;
        }
    }
}
