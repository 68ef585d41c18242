package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.schedule.type.ReduceOp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** What the tests of the emulated driver do again and again. Each call must succeed. */
final class EmulatedGpus {
    private EmulatedGpus() {}

    /** Returns the emulated driver in its first state, with the bindings loaded. */
    static CudaEmulator driver() {
        CudaEmulator emulator = CudaEmulator.load();
        CudaLibrary.load();
        return emulator;
    }

    static void ok(int result) {
        assertThat(CUresult.stringFor(result)).isEqualTo("CUDA_SUCCESS");
    }

    static void fails(int result, int expected) {
        assertThat(CUresult.stringFor(result)).isEqualTo(CUresult.stringFor(expected));
    }

    static CUdevice device(int ordinal) {
        CUdevice device = new CUdevice();
        ok(JCudaDriver.cuDeviceGet(device, ordinal));
        return device;
    }

    /** The primary context, which becomes current. */
    static CUcontext enter(int ordinal) {
        CUcontext context = new CUcontext();
        ok(JCudaDriver.cuDevicePrimaryCtxRetain(context, device(ordinal)));
        ok(JCudaDriver.cuCtxSetCurrent(context));
        return context;
    }

    /** Lets work on the current device touch a peer's memory. */
    static void reach(CUcontext peer) {
        ok(JCudaDriver.cuCtxEnablePeerAccess(peer, 0));
    }

    static CUdeviceptr allocate(long bytes) {
        CUdeviceptr pointer = new CUdeviceptr();
        ok(JCudaDriver.cuMemAlloc(pointer, bytes));
        return pointer;
    }

    static CUdeviceptr holding(int... values) {
        CUdeviceptr pointer = allocate(4L * values.length);
        ok(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 4L * values.length));
        return pointer;
    }

    static int[] ints(CUdeviceptr pointer, int number) {
        int[] values = new int[number];
        ok(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 4L * number));
        return values;
    }

    static CUdeviceptr at(CUdeviceptr pointer, long bytes) {
        return pointer.withByteOffset(bytes);
    }

    static CUstream stream() {
        CUstream stream = new CUstream();
        ok(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING));
        return stream;
    }

    static CUevent event() {
        CUevent event = new CUevent();
        ok(JCudaDriver.cuEventCreate(event, 0));
        return event;
    }

    static CUevent recorded(CUstream stream) {
        CUevent event = event();
        ok(JCudaDriver.cuEventRecord(event, stream));
        return event;
    }

    static CUfunction kernel(Kernel kernel) {
        return function(kernel.ptx(), kernel.name());
    }

    static CUfunction function(String ptx, String name) {
        CUmodule module = new CUmodule();
        ok(JCudaDriver.cuModuleLoadData(module, ptx));
        CUfunction function = new CUfunction();
        ok(JCudaDriver.cuModuleGetFunction(function, module, name));
        return function;
    }

    static Kernel sum(Element element, int inputs) {
        return new Kernel.Reduce(ReduceOp.SUM, element, inputs);
    }

    /** Returns the kernel that adds two arrays of 32-bit integers. */
    static CUfunction addition() {
        return kernel(sum(Element.I32, 2));
    }

    /** Parameters of a kernel: addresses, then the count; and the divisor 1. */
    static Pointer parameters(long count, CUdeviceptr... addresses) {
        Pointer[] all =
                Arrays.copyOf(Arrays.stream(addresses).map(Pointer::to).toArray(Pointer[]::new), addresses.length + 2);
        all[addresses.length] = Pointer.to(new long[] {count});
        all[addresses.length + 1] = Pointer.to(new int[] {1});
        return Pointer.to(all);
    }

    static int launch(CUfunction function, @Nullable CUstream stream, long count, CUdeviceptr... addresses) {
        return JCudaDriver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, parameters(count, addresses), null);
    }

    /** Pinned memory as a buffer. */
    static ByteBuffer pinned(Pointer pointer, long bytes) {
        ok(JCudaDriver.cuMemAllocHost(pointer, bytes));
        return pointer.getByteBuffer(0, bytes).order(ByteOrder.nativeOrder());
    }
}
