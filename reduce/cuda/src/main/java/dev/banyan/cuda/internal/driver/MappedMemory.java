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
    public static final long GRANULE = 2 << 20;

    /** CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR. */
    static final int DESCRIPTOR = 1;

    private final DeviceAddress address = new DeviceAddress();
    private final long bytes;

    /**
     * Maps memory, and releases its handle.
     *
     * @param where names the memory in messages
     */
    private MappedMemory(long memory, long bytes, List<CudaDevice> viewers, String where) {
        this.bytes = bytes;
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
     * Allocates memory. The calling thread's driver calls then go to its device.
     *
     * @param owner the device whose memory it is
     * @param least bytes that it has at least
     * @param viewers the devices that it is open to, the owner among them
     */
    public static MappedMemory of(CudaDevice owner, long least, List<CudaDevice> viewers) {
        return of(owner, least, viewers, 0);
    }

    /** Allocates memory that other processes can map, too, by {@link #descriptor}. */
    public static MappedMemory exportable(CudaDevice owner, long least, List<CudaDevice> viewers) {
        return of(owner, least, viewers, DESCRIPTOR);
    }

    private static MappedMemory of(CudaDevice owner, long least, List<CudaDevice> viewers, int handleTypes) {
        long bytes = Math.ceilDiv(least, GRANULE) * GRANULE;
        owner.enter();
        String where = " of " + bytes + " bytes for device programs on device " + owner.ordinal();
        return new MappedMemory(create(owner, bytes, handleTypes, where), bytes, viewers, where);
    }

    /**
     * Maps memory of another process.
     *
     * @param descriptor which stays the caller's
     * @param least bytes as given to {@link #exportable}
     * @param viewers devices of this process that it is open to
     */
    public static MappedMemory imported(int descriptor, long least, List<CudaDevice> viewers) {
        long bytes = Math.ceilDiv(least, GRANULE) * GRANULE;
        return new MappedMemory(importHandle(descriptor, ""), bytes, viewers, "");
    }

    /** Returns the handle of what another process has exported. */
    static long importHandle(int descriptor, String where) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(ValueLayout.JAVA_LONG);
            Cuda.check(
                    DriverCalls.call("cuMemImportFromShareableHandle", handle, (long) descriptor, DESCRIPTOR),
                    "cuMemImportFromShareableHandle" + where);
            return handle.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Returns a descriptor of exportable memory, which the caller closes. */
    public int descriptor() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment handle = arena.allocate(ValueLayout.JAVA_LONG);
            Cuda.check(
                    DriverCalls.call("cuMemRetainAllocationHandle", handle, address.value()),
                    "cuMemRetainAllocationHandle");
            long memory = handle.get(ValueLayout.JAVA_LONG, 0);
            try {
                return exportHandle(memory);
            } finally {
                int _ = DriverCalls.call("cuMemRelease", memory);
            }
        }
    }

    static int exportHandle(long memory) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment descriptor = arena.allocate(ValueLayout.JAVA_INT);
            Cuda.check(
                    DriverCalls.call("cuMemExportToShareableHandle", descriptor, memory, DESCRIPTOR, 0L),
                    "cuMemExportToShareableHandle");
            return descriptor.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * Returns a handle of new memory. JCuda's binding of the function does not clear what it does not set, which the
     * driver refuses.
     */
    private static long create(CudaDevice owner, long bytes, int handleTypes, String where) {
        try (Arena arena = Arena.ofConfined()) {
            // CUmemAllocationProp: the type, that of handles, the location's type and number, and zeros.
            MemorySegment properties = arena.allocate(32, Long.BYTES);
            properties.setAtIndex(ValueLayout.JAVA_INT, 0, CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED);
            properties.setAtIndex(ValueLayout.JAVA_INT, 1, handleTypes);
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
