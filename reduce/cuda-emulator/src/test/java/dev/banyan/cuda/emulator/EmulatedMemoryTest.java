package dev.banyan.cuda.emulator;

import static dev.banyan.cuda.emulator.EmulatedGpus.allocate;
import static dev.banyan.cuda.emulator.EmulatedGpus.at;
import static dev.banyan.cuda.emulator.EmulatedGpus.attribute;
import static dev.banyan.cuda.emulator.EmulatedGpus.device;
import static dev.banyan.cuda.emulator.EmulatedGpus.enter;
import static dev.banyan.cuda.emulator.EmulatedGpus.fails;
import static dev.banyan.cuda.emulator.EmulatedGpus.holding;
import static dev.banyan.cuda.emulator.EmulatedGpus.ints;
import static dev.banyan.cuda.emulator.EmulatedGpus.ok;
import static dev.banyan.cuda.emulator.EmulatedGpus.pinned;
import static dev.banyan.cuda.emulator.EmulatedGpus.reach;
import static dev.banyan.cuda.emulator.EmulatedGpus.stream;
import static jcuda.driver.JCudaDriver.*;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import jcuda.Pointer;
import jcuda.driver.CUDA_MEMCPY2D;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUmemorytype;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Memory of the emulated driver. */
class EmulatedMemoryTest {
    private CudaEmulator emulator;

    @BeforeEach
    void load() {
        emulator = EmulatedGpus.driver();
    }

    /** The number that JCuda keeps to itself. */
    private static long address(CUdeviceptr pointer) {
        long[] base = new long[1];
        ok(cuPointerGetAttribute(Pointer.to(base), CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer));
        return base[0];
    }

    @SuppressWarnings("restricted")
    private static MemorySegment around(CUdeviceptr pointer, long bytes) {
        return MemorySegment.ofAddress(address(pointer)).reinterpret(bytes);
    }

    /** Lets a device touch the memory of a pool. JCuda has no binding of that function. */
    @SuppressWarnings("restricted")
    private static int openPool(long pool, int ordinal) throws Throwable {
        MethodHandle setAccess = Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.loaderLookup().find("cuMemPoolSetAccess").orElseThrow(),
                        FunctionDescriptor.of(
                                ValueLayout.JAVA_INT,
                                ValueLayout.JAVA_LONG,
                                ValueLayout.ADDRESS,
                                ValueLayout.JAVA_LONG));
        try (Arena arena = Arena.ofConfined()) {
            return (int) setAccess.invokeExact(pool, EmulatedGpus.access(ordinal, arena), 1L);
        }
    }

    @Test
    void peerAccessOpensNoPoolsAndNoMappings() throws Throwable {
        CUcontext second = enter(1);
        CUdeviceptr plain = holding(1);
        CUdeviceptr pooled = new CUdeviceptr();
        ok(cuMemAllocAsync(pooled, 4, new CUstream()));
        CUdeviceptr mapped = EmulatedGpus.mapped(1, 2);
        ok(cuMemsetD32(pooled, 2, 1));
        ok(cuMemsetD32(mapped, 3, 1));
        ok(cuCtxSynchronize());
        enter(0);
        reach(second);
        CUdeviceptr here = allocate(4);
        for (CUdeviceptr closed : List.of(pooled, mapped)) {
            fails(cuMemcpyDtoDAsync(here, closed, 4, null), CUresult.CUDA_ERROR_INVALID_VALUE);
            fails(cuMemsetD32(closed, 3, 1), CUresult.CUDA_ERROR_INVALID_VALUE);
            assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, closed))
                    .isZero();
            assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, closed))
                    .isZero();
        }
        assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, plain))
                .isEqualTo(1);
        assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, plain))
                .isZero();
        assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_RANGE_SIZE, mapped))
                .isEqualTo(2 * EmulatedGpus.GRANULE);
        assertThat(attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MAPPING_SIZE, mapped))
                .isEqualTo(EmulatedGpus.GRANULE);
        long pool = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pooled);
        ok(openPool(pool, 0));
        assertThat(openPool(pool, 4)).as("no peer").isNotEqualTo(CUresult.CUDA_SUCCESS);
        EmulatedGpus.open(mapped, 2, 0);
        ok(cuMemcpyDtoDAsync(here, pooled, 4, null));
        assertThat(ints(here, 1)).containsExactly(2);
        ok(cuMemcpyDtoDAsync(here, mapped, 4, null));
        assertThat(ints(here, 1)).containsExactly(3);
        fails(cuMemFree(mapped), CUresult.CUDA_ERROR_INVALID_VALUE);
        ok(cuMemUnmap(mapped, 2 * EmulatedGpus.GRANULE));
        ok(cuMemAddressFree(mapped, 2 * EmulatedGpus.GRANULE));
        ok(cuMemFreeAsync(pooled, new CUstream()));
    }

    @Test
    void aKernelFaultsInAPoolThatIsClosed() {
        enter(1);
        CUdeviceptr pooled = new CUdeviceptr();
        ok(cuMemAllocAsync(pooled, 4, new CUstream()));
        ok(cuMemsetD32(pooled, 2, 1));
        CUcontext second = enter(1);
        enter(0);
        reach(second);
        CUdeviceptr here = holding(1);
        ok(Addition.launch(Addition.addition(), null, 1, here, here, pooled));
        fails(cuCtxSynchronize(), CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
    }

    /** Nothing but the default stream is ordered with it. */
    @Test
    void aCopyFromPageableMemoryMayBeLate() {
        emulator.tell("pageable late");
        enter(0);
        CUdeviceptr pointer = allocate(4);
        int[] source = {5};
        ok(cuMemcpyHtoD(pointer, Pointer.to(source), 4));
        source[0] = 6;
        CUstream stream = stream();
        int[] got = new int[1];
        ok(cuMemcpyDtoHAsync(Pointer.to(got), pointer, 4, stream));
        ok(cuStreamSynchronize(stream));
        assertThat(got[0]).isEqualTo(-1);
        fails(cuStreamQuery(null), CUresult.CUDA_ERROR_NOT_READY);
        ok(cuStreamSynchronize(null));
        ok(cuMemcpyDtoHAsync(Pointer.to(got), pointer, 4, stream));
        assertThat(got[0]).isEqualTo(5);
        CUdeviceptr other = allocate(4);
        ok(cuMemcpyHtoD(other, Pointer.to(source), 4));
        assertThat(ints(other, 1)).as("in the default stream").containsExactly(6);
        Pointer host = new Pointer();
        pinned(host, 4).putInt(0, 7);
        ok(cuMemcpyHtoD(other, host, 4));
        ok(cuMemcpyDtoHAsync(Pointer.to(got), other, 4, stream));
        assertThat(got[0]).as("pinned memory is there").isEqualTo(7);
    }

    @Test
    void memoryIsPoisonedAndCounted() {
        enter(0);
        CUdeviceptr pointer = allocate(1001);
        assertThat(emulator.count("allocations")).isEqualTo(1);
        assertThat(emulator.count("bytes")).isEqualTo(1001);
        assertThat(Float.intBitsToFloat(ints(pointer, 1)[0])).isNaN();
        long[] free = new long[1];
        long[] total = new long[1];
        ok(cuMemGetInfo(free, total));
        assertThat(total[0] - free[0]).isEqualTo(1001);
        ok(cuMemFree(pointer));
        assertThat(emulator.count("allocations")).isZero();
        fails(cuMemFree(pointer), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuMemAlloc(pointer, 0), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuMemAlloc(pointer, (1L << 30) + 1), CUresult.CUDA_ERROR_OUT_OF_MEMORY);
        ok(cuCtxSetCurrent(new CUcontext()));
        fails(cuMemAlloc(pointer, 8), CUresult.CUDA_ERROR_INVALID_CONTEXT);
    }

    @Test
    void writesBesideAnAllocationAreFound() {
        enter(0);
        CUdeviceptr behind = allocate(1001);
        CUdeviceptr before = allocate(16);
        assertThat(emulator.problems()).isEmpty();
        around(behind, 1002).set(ValueLayout.JAVA_BYTE, 1001, (byte) 1);
        assertThat(emulator.problems()).singleElement().asString().contains("after them", "at byte 1001");
        ok(cuMemFree(behind));
        int known = emulator.problems().size();
        around(before, 16);
        MemorySegment first = around(before, 16);
        MemorySegment zone = MemorySegment.ofAddress(first.address() - 4);
        poke(zone);
        ok(cuMemFree(before));
        assertThat(emulator.problems()).hasSize(known + 1).last().asString().contains("before them", "at byte -4");
    }

    @SuppressWarnings("restricted")
    private static void poke(MemorySegment zone) {
        zone.reinterpret(4).fill((byte) 7);
    }

    @Test
    void whatIsNotFreedIsAbandoned() {
        enter(0);
        allocate(16);
        allocate(16);
        ok(cuDevicePrimaryCtxRelease(device(0)));
        assertThat(emulator.count("allocations")).isZero();
        assertThat(emulator.count("abandoned")).isEqualTo(2);
    }

    @Test
    void copiesStayWithinAllocations() {
        enter(0);
        CUdeviceptr pointer = holding(1, 2, 3, 4);
        CUdeviceptr other = allocate(16);
        ok(cuMemcpyDtoD(at(other, 4), pointer, 12));
        assertThat(Arrays.copyOfRange(ints(other, 4), 1, 4)).containsExactly(1, 2, 3);
        fails(cuMemcpyDtoD(at(other, 4), pointer, 16), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuMemcpyHtoD(pointer, Pointer.to(new int[5]), 20), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuMemcpyDtoH(Pointer.to(new int[5]), pointer, 20), CUresult.CUDA_ERROR_INVALID_VALUE);
        ok(cuMemcpy(other, pointer, 16));
        assertThat(ints(other, 4)).containsExactly(1, 2, 3, 4);
        ok(cuMemFree(other));
        fails(cuMemcpyDtoD(other, pointer, 4), CUresult.CUDA_ERROR_INVALID_VALUE);
    }

    @Test
    void fills() {
        enter(0);
        CUdeviceptr pointer = holding(0, 0, 0, 0);
        ok(cuMemsetD32(pointer, 0x01020304, 2));
        ok(cuMemsetD16(at(pointer, 8), (short) 0x0506, 1));
        ok(cuMemsetD8(at(pointer, 15), (byte) 7, 1));
        assertThat(ints(pointer, 4)).containsExactly(0x01020304, 0x01020304, 0x0506, 0x07000000);
        fails(cuMemsetD32(at(pointer, 2), 0, 1), CUresult.CUDA_ERROR_INVALID_VALUE);
        fails(cuMemsetD8(pointer, (byte) 0, 17), CUresult.CUDA_ERROR_INVALID_VALUE);
        ok(cuMemsetD2D8(pointer, 8, (byte) 1, 2, 2));
        assertThat(ints(pointer, 4)).containsExactly(0x01020101, 0x01020304, 0x0101, 0x07000000);
    }

    @Test
    void copiesRectangles() {
        enter(0);
        CUdeviceptr from = holding(1, 2, 3, 4, 5, 6);
        CUdeviceptr to = holding(0, 0, 0, 0, 0, 0);
        CUDA_MEMCPY2D copy = new CUDA_MEMCPY2D();
        copy.srcMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
        copy.srcDevice = from;
        copy.srcPitch = 12;
        copy.srcXInBytes = 4;
        copy.dstMemoryType = CUmemorytype.CU_MEMORYTYPE_DEVICE;
        copy.dstDevice = to;
        copy.dstPitch = 8;
        copy.WidthInBytes = 8;
        copy.Height = 2;
        ok(cuMemcpy2D(copy));
        assertThat(ints(to, 6)).containsExactly(2, 3, 5, 6, 0, 0);
    }

    @Test
    void pinnedMemoryIsReachedByDevices() {
        enter(0);
        Pointer host = new Pointer();
        ByteBuffer buffer = pinned(host, 16);
        buffer.putInt(0, 42);
        CUdeviceptr seen = new CUdeviceptr();
        ok(cuMemHostGetDevicePointer(seen, host, 0));
        CUdeviceptr pointer = allocate(16);
        ok(cuMemcpyDtoD(pointer, seen, 16));
        assertThat(ints(pointer, 1)).containsExactly(42);
        assertThat(emulator.count("host allocations")).isEqualTo(1);
        ok(cuMemFreeHost(host));
        assertThat(emulator.count("host allocations")).isZero();
        fails(cuMemFreeHost(host), CUresult.CUDA_ERROR_INVALID_VALUE);
    }

    @Test
    void hostMemoryIsRegisteredOnce() {
        enter(0);
        Pointer host = Pointer.to(ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder()));
        ok(cuMemHostRegister(host, 64, CU_MEMHOSTREGISTER_DEVICEMAP));
        fails(cuMemHostRegister(host, 8, 0), CUresult.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        assertThat(emulator.count("registrations")).isEqualTo(1);
        ok(cuMemHostUnregister(host));
        fails(cuMemHostUnregister(host), CUresult.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    }

    @Test
    void pointersTellWhereTheyAre() {
        CUcontext context = enter(3);
        CUdeviceptr pointer = allocate(64);
        int[] value = new int[1];
        ok(cuPointerGetAttribute(
                Pointer.to(value), CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at(pointer, 63)));
        assertThat(value[0]).isEqualTo(3);
        ok(cuPointerGetAttribute(Pointer.to(value), CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
        assertThat(value[0]).isEqualTo(CUmemorytype.CU_MEMORYTYPE_DEVICE);
        long[] size = new long[1];
        CUdeviceptr base = new CUdeviceptr();
        ok(cuMemGetAddressRange(base, size, at(pointer, 40)));
        assertThat(base).isEqualTo(pointer);
        assertThat(size[0]).isEqualTo(64);
        assertThat(context).isNotNull();
        fails(
                cuPointerGetAttribute(
                        Pointer.to(value), CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(pointer, 64)),
                CUresult.CUDA_ERROR_INVALID_VALUE);
    }

    @Test
    void peersAreCopiedToOnlyWithAccess() {
        CUcontext second = enter(1);
        CUdeviceptr there = allocate(16);
        CUcontext first = enter(0);
        CUdeviceptr here = holding(1, 2, 3, 4);
        fails(cuMemcpyPeer(there, second, here, first, 16), CUresult.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        fails(cuMemcpyDtoD(there, here, 16), CUresult.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        assertThat(emulator.problems()).hasSize(2).first().asString().contains("from device 0 to 1");
        reach(second);
        ok(cuMemcpyPeer(there, second, here, first, 16));
        assertThat(ints(there, 4)).containsExactly(1, 2, 3, 4);
        assertThat(emulator.count("peer copies")).isEqualTo(1);
        assertThat(emulator.count("staged copies")).isZero();
        fails(cuMemcpyPeer(there, first, here, first, 16), CUresult.CUDA_ERROR_INVALID_VALUE);
    }

    @Test
    void peersAreCopiedToThroughTheHostWhereThatIsAllowed() {
        emulator.tell("staging allowed");
        CUcontext far = enter(5);
        CUdeviceptr there = allocate(8);
        CUcontext first = enter(0);
        ok(cuMemcpyPeer(there, far, holding(8, 9), first, 8));
        assertThat(ints(there, 2)).containsExactly(8, 9);
        assertThat(emulator.count("staged copies")).isEqualTo(1);
    }

    @Test
    void aPairCanCorrupt() {
        emulator.tell("corrupt 0 1");
        CUcontext second = enter(1);
        CUdeviceptr there = allocate(16);
        CUcontext first = enter(0);
        reach(second);
        CUdeviceptr here = holding(0, 0, 0, 0);
        ok(cuMemcpyPeer(there, second, here, first, 16));
        assertThat(ints(there, 4)).isNotEqualTo(new int[4]);
        ok(cuMemcpyPeer(here, first, there, second, 16));
        assertThat(ints(here, 4)).isEqualTo(ints(there, 4));
    }

    @Test
    void memoryIsAllocatedAndFreedInStreamOrder() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = new CUdeviceptr();
        ok(cuMemAllocAsync(pointer, 16, stream));
        ok(cuMemsetD32Async(pointer, 5, 4, stream));
        int[] back = new int[4];
        ok(cuMemcpyDtoHAsync(Pointer.to(back), pointer, 16, stream));
        emulator.tell("pause");
        ok(cuMemFreeAsync(pointer, stream));
        assertThat(emulator.count("allocations")).isEqualTo(1);
        emulator.tell("resume");
        ok(cuStreamSynchronize(stream));
        assertThat(back).containsOnly(5);
        assertThat(emulator.count("allocations")).isZero();
    }

    @Test
    void freeingWaitsForWork() {
        enter(0);
        CUstream stream = stream();
        CUdeviceptr pointer = holding(1, 2);
        CUdeviceptr other = allocate(8);
        emulator.tell("patience 1", "pause");
        ok(cuMemcpyDtoDAsync(other, pointer, 8, stream));
        fails(cuMemFree(pointer), CUresult.CUDA_ERROR_LAUNCH_TIMEOUT);
        emulator.tell("patience 0", "resume");
        ok(cuMemFree(pointer));
        assertThat(ints(other, 2)).containsExactly(1, 2);
    }
}
