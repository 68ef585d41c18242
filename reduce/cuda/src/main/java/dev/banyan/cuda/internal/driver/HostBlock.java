package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import jcuda.Pointer;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** Pinned memory of the host that all devices may copy from and to. */
public final class HostBlock {
    private static final int PORTABLE_AND_MAPPED =
            JCudaDriver.CU_MEMHOSTALLOC_PORTABLE | JCudaDriver.CU_MEMHOSTALLOC_DEVICEMAP;

    private final HostAddress memory = new HostAddress();
    private final long address;
    private final long bytes;

    /** Needs a current context. */
    public HostBlock(long bytes) {
        this.bytes = bytes;
        Cuda.check(
                JCudaDriver.cuMemHostAlloc(memory, bytes, PORTABLE_AND_MAPPED),
                "cuMemHostAlloc of " + bytes + " bytes");
        DeviceAddress seen = new DeviceAddress();
        int result = JCudaDriver.cuMemHostGetDevicePointer(seen, memory, 0);
        if (result != CUresult.CUDA_SUCCESS) {
            JCudaDriver.cuMemFreeHost(memory);
        }
        Cuda.check(result, "cuMemHostGetDevicePointer of " + bytes + " bytes");
        address = seen.value();
    }

    /** Returns the address by which devices know it. */
    public long address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Returns the address by which copies to and from the host know it. */
    public Pointer pointer() {
        return memory;
    }

    /** Returns a view for the host, which must not be used after {@link #free}. */
    @SuppressWarnings("restricted")
    public MemorySegment memory() {
        return MemorySegment.ofAddress(memory.value()).reinterpret(bytes);
    }

    /**
     * Returns a view for the host that ends with an arena.
     *
     * @param freed frees the block when the arena is closed
     */
    @SuppressWarnings("restricted")
    public MemorySegment segment(Arena arena, Runnable freed) {
        return MemorySegment.ofAddress(memory.value()).reinterpret(bytes, arena, _ -> freed.run());
    }

    /** Frees the block and returns the driver's result. */
    public int free() {
        return JCudaDriver.cuMemFreeHost(memory);
    }
}
