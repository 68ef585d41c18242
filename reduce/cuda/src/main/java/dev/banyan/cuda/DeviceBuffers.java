package dev.banyan.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * The ranks' memory: what was allocated, and how the host gets at it. Not safe for use from several threads at
 * once.
 */
final class DeviceBuffers {
    private static final long PART_BYTES = 8 << 20;

    private final List<CudaDevice> ranks;
    private final List<DeviceAddress> allocations = new ArrayList<>();

    DeviceBuffers(List<CudaDevice> ranks) {
        this.ranks = ranks;
    }

    /** Zeroed memory of a rank's device. */
    MemorySegment allocate(int rank, long bytes) {
        if (rank < 0 || rank >= ranks.size() || bytes < 0) {
            throw new IllegalArgumentException(
                    bytes + " bytes for rank " + rank + "; ranks are 0.." + (ranks.size() - 1) + ", bytes at least 0");
        }
        if (bytes == 0) {
            return MemorySegment.NULL;
        }
        CudaDevice device = ranks.get(rank);
        device.enter();
        DeviceAddress address = new DeviceAddress();
        Cuda.check(
                JCudaDriver.cuMemAlloc(address, bytes),
                "cuMemAlloc of " + bytes + " bytes on device " + device.ordinal());
        allocations.add(address);
        Cuda.check(JCudaDriver.cuMemsetD8(address, (byte) 0, bytes), "cuMemsetD8 on device " + device.ordinal());
        Cuda.check(JCudaDriver.cuStreamSynchronize(null), "cuMemsetD8 on device " + device.ordinal());
        return DeviceSpace.segment(address.value(), bytes);
    }

    void write(MemorySegment target, MemorySegment source) {
        enter(target, source);
        if (isAtHand(source)) {
            write(target.address(), source);
        } else {
            inParts(target, source, (address, staging, part) -> {
                MemorySegment.copy(part, 0, staging, 0, part.byteSize());
                write(address, staging.asSlice(0, part.byteSize()));
            });
        }
    }

    private static void write(long target, MemorySegment source) {
        try {
            Cuda.check(
                    JCudaDriver.cuMemcpyHtoD(
                            new DeviceAddress(target), new HostAddress(source.address()), source.byteSize()),
                    "cuMemcpyHtoD of " + source.byteSize() + " bytes");
        } finally {
            Reference.reachabilityFence(source);
        }
    }

    void read(MemorySegment source, MemorySegment target) {
        enter(source, target);
        if (isAtHand(target) && !target.isReadOnly()) {
            read(source.address(), target);
        } else {
            inParts(source, target, (address, staging, part) -> {
                read(address, staging.asSlice(0, part.byteSize()));
                MemorySegment.copy(staging, 0, part, 0, part.byteSize());
            });
        }
    }

    private static void read(long source, MemorySegment target) {
        try {
            Cuda.check(
                    JCudaDriver.cuMemcpyDtoH(
                            new HostAddress(target.address()), new DeviceAddress(source), target.byteSize()),
                    "cuMemcpyDtoH of " + target.byteSize() + " bytes");
        } finally {
            Reference.reachabilityFence(target);
        }
    }

    private void enter(MemorySegment device, MemorySegment host) {
        if (device.byteSize() < host.byteSize()) {
            throw new IllegalArgumentException(
                    "the device's memory has " + device.byteSize() + " bytes, the host's " + host.byteSize());
        }
        ranks.getFirst().enter();
    }

    /** Whether the driver can get at it; pinned memory it copies without a detour. */
    private static boolean isAtHand(MemorySegment host) {
        return host.isNative()
                && host.byteSize() > 0
                && host.scope().isAlive()
                && host.isAccessibleBy(Thread.currentThread());
    }

    /** Copies a part by way of native memory. */
    @FunctionalInterface
    private interface PartCopy {
        void run(long address, MemorySegment staging, MemorySegment part);
    }

    /** What Java keeps on its heap, and what it refuses. */
    private static void inParts(MemorySegment device, MemorySegment host, PartCopy copy) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(Math.min(PART_BYTES, host.byteSize()));
            for (long at = 0; at < host.byteSize(); at += PART_BYTES) {
                MemorySegment part = host.asSlice(at, Math.min(PART_BYTES, host.byteSize() - at));
                copy.run(device.address() + at, staging, part);
            }
        }
    }

    /** @throws IllegalArgumentException if an address is no memory of the rank's device */
    void checkOwner(int rank, long address) {
        CudaDevice device = ranks.get(rank);
        device.enter();
        int[] ordinal = {-1};
        int result = JCudaDriver.cuPointerGetAttribute(
                Pointer.to(ordinal),
                CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                new DeviceAddress(address));
        if (result == CUresult.CUDA_ERROR_INVALID_VALUE) {
            throw new IllegalArgumentException("the buffer of rank " + rank + " at 0x" + Long.toHexString(address)
                    + " is no memory of a device; take it from Communicator.allocate or CudaBackend.memory");
        }
        Cuda.check(result, "cuPointerGetAttribute on device " + device.ordinal());
        if (ordinal[0] != device.ordinal()) {
            throw new IllegalArgumentException("the buffer of rank " + rank + " at 0x" + Long.toHexString(address)
                    + " is on device " + ordinal[0] + ", but the rank is on device " + device.ordinal());
        }
    }

    /** Frees what was allocated; gives what the driver answered. */
    List<Integer> free() {
        List<Integer> results = allocations.stream().map(JCudaDriver::cuMemFree).toList();
        allocations.clear();
        return results;
    }
}
