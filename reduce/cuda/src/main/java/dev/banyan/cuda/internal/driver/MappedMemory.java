package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * Memory of a device that is open to some other devices. Enabled peer access (cuCtxEnablePeerAccess) would open all
 * allocations of both contexts to each other, so that any of them, and any module that is loaded, may wait for kernels
 * of both devices, and hold up their launches: kernels that wait for each other would then wait for ever.
 */
public final class MappedMemory {
    /** Memory is mapped in multiples of so many bytes. */
    private static final long GRANULE = 2 << 20;

    private final DeviceAddress address = new DeviceAddress();
    private final long bytes;

    /**
     * Allocates memory. The calling thread's driver calls then go to its device.
     *
     * @param owner the device whose memory it is
     * @param least bytes that it has at least
     * @param viewers the devices that it is open to, the owner among them
     */
    public MappedMemory(CudaDevice owner, long least, List<CudaDevice> viewers) {
        bytes = Math.ceilDiv(least, GRANULE) * GRANULE;
        owner.enter();
        String where = " of " + bytes + " bytes for device programs on device " + owner.ordinal();
        long memory = create(owner, bytes, where);
        boolean isMapped = false;
        try {
            Cuda.check(
                    JCudaDriver.cuMemAddressReserve(address, bytes, 0, new CUdeviceptr(), 0),
                    "cuMemAddressReserve" + where);
            Cuda.check(DriverCalls.call("cuMemMap", address.value(), bytes, 0L, memory, 0L), "cuMemMap" + where);
            isMapped = true;
            Cuda.check(setAccess(address.value(), bytes, viewers), "cuMemSetAccess" + where);
        } catch (Throwable e) {
            if (isMapped) {
                JCudaDriver.cuMemUnmap(address, bytes);
            }
            if (address.value() != 0) {
                JCudaDriver.cuMemAddressFree(address, bytes);
            }
            throw e;
        } finally {
            // The mapping keeps the memory.
            int _ = DriverCalls.call("cuMemRelease", memory);
        }
    }

    /**
     * Returns a handle of new memory. JCuda's binding of the function does not clear what it does not set, which the
     * driver refuses.
     */
    private static long create(CudaDevice owner, long bytes, String where) {
        try (Arena arena = Arena.ofConfined()) {
            // CUmemAllocationProp: the type, that of handles, the location's type and number, and zeros.
            MemorySegment properties = arena.allocate(32, Long.BYTES);
            properties.setAtIndex(ValueLayout.JAVA_INT, 0, CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED);
            properties.setAtIndex(ValueLayout.JAVA_INT, 2, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
            properties.setAtIndex(ValueLayout.JAVA_INT, 3, owner.ordinal());
            MemorySegment created = arena.allocate(ValueLayout.JAVA_LONG);
            Cuda.check(DriverCalls.call("cuMemCreate", created, bytes, properties, 0L), "cuMemCreate" + where);
            return created.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Returns whether a device's memory can be mapped. */
    public static boolean isSupported(CudaDevice device) {
        return device.attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
    }

    public DeviceAddress address() {
        return address;
    }

    public long bytes() {
        return bytes;
    }

    /** Opens mapped addresses to devices. JCuda's binding of the function passes other locations than it is given. */
    static int setAccess(long address, long bytes, List<CudaDevice> viewers) {
        try (Arena arena = Arena.ofConfined()) {
            List<Integer> ordinals = viewers.stream().map(CudaDevice::ordinal).toList();
            return DriverCalls.call("cuMemSetAccess", address, bytes, access(arena, ordinals), (long) viewers.size());
        }
    }

    /** Returns a CUmemAccessDesc of each device that may read and write. */
    static MemorySegment access(Arena arena, List<Integer> ordinals) {
        // The type and the number of the location, and the flags.
        MemorySegment access = arena.allocate(ValueLayout.JAVA_INT, 3L * ordinals.size());
        for (int i = 0; i < ordinals.size(); i++) {
            access.setAtIndex(ValueLayout.JAVA_INT, 3L * i, CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE);
            access.setAtIndex(ValueLayout.JAVA_INT, 3L * i + 1, ordinals.get(i));
            access.setAtIndex(ValueLayout.JAVA_INT, 3L * i + 2, CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        }
        return access;
    }

    /** Frees the memory, which nothing uses any more, and returns the driver's result. */
    public int free() {
        int unmapped = JCudaDriver.cuMemUnmap(address, bytes);
        int freed = JCudaDriver.cuMemAddressFree(address, bytes);
        return unmapped == CUresult.CUDA_SUCCESS ? freed : unmapped;
    }
}
