package dev.banyan.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmemAccess_flags;
import jcuda.driver.CUmemAllocationType;
import jcuda.driver.CUmemLocationType;
import jcuda.driver.CUmodule;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Calls of the emulated driver that tests make again and again. Each call must succeed. */
public final class EmulatedGpus {
    /** Bytes of the shortest mapping. */
    public static final long GRANULE = 2 << 20;

    private EmulatedGpus() {}

    /** Returns the driver in its first state, with the bindings loaded. */
    static CudaEmulator driver() {
        CudaEmulator emulator = CudaEmulator.load();
        ok(JCudaDriver.cuInit(0));
        return emulator;
    }

    public static void ok(int result) {
        assertThat(CUresult.stringFor(result)).isEqualTo("CUDA_SUCCESS");
    }

    public static void fails(int result, int expected) {
        assertThat(CUresult.stringFor(result)).isEqualTo(CUresult.stringFor(expected));
    }

    public static CUdevice device(int ordinal) {
        CUdevice device = new CUdevice();
        ok(JCudaDriver.cuDeviceGet(device, ordinal));
        return device;
    }

    /** The primary context, which becomes current. */
    public static CUcontext enter(int ordinal) {
        CUcontext context = new CUcontext();
        ok(JCudaDriver.cuDevicePrimaryCtxRetain(context, device(ordinal)));
        ok(JCudaDriver.cuCtxSetCurrent(context));
        return context;
    }

    /** Lets work on the current device touch a peer's memory. */
    public static void reach(CUcontext peer) {
        ok(JCudaDriver.cuCtxEnablePeerAccess(peer, 0));
    }

    public static CUdeviceptr allocate(long bytes) {
        CUdeviceptr pointer = new CUdeviceptr();
        ok(JCudaDriver.cuMemAlloc(pointer, bytes));
        return pointer;
    }

    /**
     * Mapped memory of a device, which the device alone may touch.
     *
     * @param granules mappings of 2 MiB each
     */
    public static CUdeviceptr mapped(int ordinal, int granules) {
        Reserved pointer = new Reserved();
        ok(JCudaDriver.cuMemAddressReserve(pointer, granules * GRANULE, 0, new CUdeviceptr(), 0));
        for (int g = 0; g < granules; g++) {
            long memory = create(ordinal);
            ok(call("cuMemMap", pointer.address() + g * GRANULE, GRANULE, 0L, memory, 0L));
            ok(call("cuMemRelease", memory));
        }
        open(pointer, granules, ordinal);
        return pointer;
    }

    /** Returns a handle of new memory. JCuda's binding of the function does not clear what it does not set. */
    private static long create(int ordinal) {
        try (Arena arena = Arena.ofConfined()) {
            // CUmemAllocationProp: the type, that of handles, the location's type and number, and zeros.
            MemorySegment properties = arena.allocateFrom(
                    ValueLayout.JAVA_INT,
                    CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED,
                    0,
                    CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE,
                    ordinal,
                    0,
                    0,
                    0,
                    0);
            MemorySegment created = arena.allocate(ValueLayout.JAVA_LONG);
            ok(call("cuMemCreate", created, GRANULE, properties, 0L));
            return created.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /** Opens mapped memory to a device. JCuda's binding of the function passes another location than it is given. */
    public static void open(CUdeviceptr pointer, int granules, int ordinal) {
        try (Arena arena = Arena.ofConfined()) {
            long address = attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, pointer);
            ok(call("cuMemSetAccess", address, granules * GRANULE, access(ordinal, arena), 1L));
        }
    }

    /** Calls a function of the driver with numbers of 32 and 64 bits and addresses, and returns its result. */
    @SuppressWarnings("restricted")
    static int call(String function, Object... arguments) {
        MemoryLayout[] layouts = Arrays.stream(arguments)
                .map(argument -> switch (argument) {
                    case Integer _ -> ValueLayout.JAVA_INT;
                    case Long _ -> ValueLayout.JAVA_LONG;
                    default -> ValueLayout.ADDRESS;
                })
                .toArray(MemoryLayout[]::new);
        try {
            return (int) Linker.nativeLinker()
                    .downcallHandle(
                            SymbolLookup.loaderLookup().find(function).orElseThrow(),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts))
                    .invokeWithArguments(arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    /** Returns a CUmemAccessDesc that lets a device read and write. */
    static MemorySegment access(int ordinal, Arena arena) {
        return arena.allocateFrom(
                ValueLayout.JAVA_INT,
                CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE,
                ordinal,
                CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }

    /** Returns the driver's attribute of an address. */
    public static long attribute(int attribute, CUdeviceptr pointer) {
        long[] value = {0};
        ok(JCudaDriver.cuPointerGetAttribute(Pointer.to(value), attribute, pointer));
        return value[0];
    }

    public static CUdeviceptr holding(int... values) {
        CUdeviceptr pointer = allocate(4L * values.length);
        ok(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 4L * values.length));
        // The copy may be late.
        ok(JCudaDriver.cuStreamSynchronize(null));
        return pointer;
    }

    public static int[] ints(CUdeviceptr pointer, int number) {
        int[] values = new int[number];
        ok(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 4L * number));
        return values;
    }

    public static CUdeviceptr at(CUdeviceptr pointer, long bytes) {
        return pointer.withByteOffset(bytes);
    }

    public static CUstream stream() {
        CUstream stream = new CUstream();
        ok(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return stream;
    }

    public static CUevent event() {
        CUevent event = new CUevent();
        ok(JCudaDriver.cuEventCreate(event, 0));
        return event;
    }

    public static CUevent recorded(CUstream stream) {
        CUevent event = event();
        ok(JCudaDriver.cuEventRecord(event, stream));
        return event;
    }

    /** Loads a module from native memory, so that the garbage collector can run while the driver lets the call wait. */
    public static CUmodule module(String ptx) {
        CUmodule module = new CUmodule();
        byte[] text = (ptx + "\0").getBytes(StandardCharsets.US_ASCII);
        ByteBuffer image = ByteBuffer.allocateDirect(text.length).put(0, text);
        Pointer noOptions = Pointer.to(ByteBuffer.allocateDirect(Long.BYTES));
        ok(JCudaDriver.cuModuleLoadDataEx(module, Pointer.to(image), 0, new int[0], noOptions));
        return module;
    }

    public static CUfunction function(String ptx, String name) {
        CUfunction function = new CUfunction();
        ok(JCudaDriver.cuModuleGetFunction(function, module(ptx), name));
        return function;
    }

    /** Pinned memory as a buffer. */
    public static ByteBuffer pinned(Pointer pointer, long bytes) {
        ok(JCudaDriver.cuMemAllocHost(pointer, bytes));
        return pointer.getByteBuffer(0, bytes).order(ByteOrder.nativeOrder());
    }

    /** Addresses that nothing is mapped at yet, of which the driver has no attribute. */
    private static final class Reserved extends CUdeviceptr {
        long address() {
            return getNativePointer();
        }
    }
}
