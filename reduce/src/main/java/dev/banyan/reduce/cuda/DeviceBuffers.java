package dev.banyan.reduce.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** The ranks' memory: what was allocated, and how the host gets at it. Not safe for use from several threads at once. */
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
        inParts(target, source, (address, host, part) -> {
            MemorySegment.copy(part, 0, host, 0, part.byteSize());
            Cuda.check(
                    JCudaDriver.cuMemcpyHtoD(address, Pointer.to(host.asByteBuffer()), part.byteSize()),
                    "cuMemcpyHtoD of " + part.byteSize() + " bytes");
        });
    }

    void read(MemorySegment source, MemorySegment target) {
        inParts(source, target, (address, host, part) -> {
            Cuda.check(
                    JCudaDriver.cuMemcpyDtoH(Pointer.to(host.asByteBuffer()), address, part.byteSize()),
                    "cuMemcpyDtoH of " + part.byteSize() + " bytes");
            MemorySegment.copy(host, 0, part, 0, part.byteSize());
        });
    }

    /** Copies a part by way of native memory: the bindings take only some kinds of segments. */
    @FunctionalInterface
    private interface PartCopy {
        void run(DeviceAddress address, MemorySegment host, MemorySegment part);
    }

    private void inParts(MemorySegment device, MemorySegment host, PartCopy copy) {
        if (device.byteSize() < host.byteSize()) {
            throw new IllegalArgumentException(
                    "the device's memory has " + device.byteSize() + " bytes, the host's " + host.byteSize());
        }
        ranks.getFirst().enter();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment staging = arena.allocate(Math.min(PART_BYTES, host.byteSize()));
            for (long at = 0; at < host.byteSize(); at += PART_BYTES) {
                MemorySegment part = host.asSlice(at, Math.min(PART_BYTES, host.byteSize() - at));
                copy.run(new DeviceAddress(device.address() + at), staging, part);
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
