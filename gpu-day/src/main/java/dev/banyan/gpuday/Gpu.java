package dev.banyan.gpuday;

import dev.banyan.cuda.internal.driver.CudaDevices;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/**
 * One GPU, in its primary context. Each method makes that context the calling thread's current one. Closing it frees
 * what was made here. Used by one thread at a time.
 */
final class Gpu implements AutoCloseable {
    /** Threads of a block of kernels that move data. */
    static final int BLOCK = 512;

    /** The compute capability of Volta, the first with the instructions that the kernels use. */
    private static final int LEAST_CAPABILITY = 70;
    /** A third of the free memory is left to the driver, to other processes, and to what is allocated later. */
    private static final double USABLE = 0.65;

    private final int ordinal;
    private final CUdevice device = new CUdevice();
    private final CUcontext context = new CUcontext();
    private final Map<String, CUfunction> functions = new HashMap<>();
    /** Free what was made; the youngest is first. */
    private final Deque<Runnable> frees = new ArrayDeque<>();

    private Gpu(int ordinal) {
        this.ordinal = ordinal;
        check(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet");
        int capability = 10 * attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
                + attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        if (capability < LEAST_CAPABILITY) {
            throw new SkippedException(this + " is of sm_" + capability
                    + ", and the kernels need sm_70 or later; hide it by CUDA_VISIBLE_DEVICES");
        }
        check(JCudaDriver.cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain");
        frees.push(() -> JCudaDriver.cuDevicePrimaryCtxRelease(device));
    }

    /**
     * All GPUs that the driver shows.
     *
     * @throws dev.banyan.cuda.type.CudaException if there is no driver or no device
     */
    static List<Gpu> all() {
        int count = CudaDevices.count();
        List<Gpu> gpus = new ArrayList<>();
        try {
            for (int ordinal = 0; ordinal < count; ordinal++) {
                gpus.add(new Gpu(ordinal));
            }
            return gpus;
        } catch (Throwable e) {
            gpus.forEach(Gpu::close);
            throw e;
        }
    }

    int ordinal() {
        return ordinal;
    }

    /** As figures name it. */
    String number() {
        return Integer.toString(ordinal);
    }

    CUdevice handle() {
        return device;
    }

    CUcontext context() {
        return context;
    }

    int attribute(int attribute) {
        int[] value = new int[1];
        check(JCudaDriver.cuDeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute");
        return value[0];
    }

    int multiprocessors() {
        return attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    }

    /** Makes the calling thread's driver calls go to this GPU. */
    void enter() {
        check(JCudaDriver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    }

    /**
     * Bytes that a measurement may allocate, each time that it is asked.
     *
     * @param most what it wants
     * @param parts number of arrays; each gets a whole number of MiB, or of pages of 4 KiB where less than that is left
     * @return bytes of one array, at most {@code most / parts}
     * @throws SkippedException if there is no memory for that
     */
    long bytesOfEach(long most, int parts) {
        enter();
        long[] free = new long[1];
        long[] total = new long[1];
        check(JCudaDriver.cuMemGetInfo(free, total), "cuMemGetInfo");
        long each = Math.min(most, (long) (free[0] * USABLE)) / parts;
        long unit = each >= 1 << 20 ? 1 << 20 : 1 << 12;
        if (each < unit) {
            throw new SkippedException(
                    this + " has " + free[0] + " bytes of free memory; end other programs that use it");
        }
        return each / unit * unit;
    }

    Address memory(long bytes) {
        enter();
        Address address = new Address();
        check(JCudaDriver.cuMemAlloc(address, bytes), "cuMemAlloc of " + bytes + " bytes");
        frees.push(() -> JCudaDriver.cuMemFree(address));
        return address;
    }

    /** Pinned memory of the host. */
    Pointer pinned(long bytes) {
        enter();
        Pointer pointer = new Pointer();
        check(JCudaDriver.cuMemHostAlloc(pointer, bytes, 0), "cuMemHostAlloc of " + bytes + " bytes");
        frees.push(() -> JCudaDriver.cuMemFreeHost(pointer));
        return pointer;
    }

    /** A stream that neither waits for the default stream nor delays it. */
    CUstream stream() {
        enter();
        CUstream stream = new CUstream();
        check(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        frees.push(() -> JCudaDriver.cuStreamDestroy(stream));
        return stream;
    }

    /** An event with a time. */
    CUevent event() {
        enter();
        CUevent event = new CUevent();
        check(JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DEFAULT), "cuEventCreate");
        frees.push(() -> JCudaDriver.cuEventDestroy(event));
        return event;
    }

    /** A kernel, compiled by the driver when it is first asked for. */
    CUfunction function(Kernel kernel) {
        CUfunction known = functions.get(kernel.name());
        if (known != null) {
            return known;
        }
        enter();
        CUmodule module = new CUmodule();
        check(JCudaDriver.cuModuleLoadData(module, kernel.ptx()), "loading the kernel " + kernel.name());
        frees.push(() -> JCudaDriver.cuModuleUnload(module));
        CUfunction function = new CUfunction();
        check(JCudaDriver.cuModuleGetFunction(function, module, kernel.name()), "finding the kernel " + kernel.name());
        functions.put(kernel.name(), function);
        return function;
    }

    /** Queues a kernel; the current context must be this GPU's. */
    void launch(CUfunction function, int blocks, int threads, CUstream stream, NativePointerObject... parameters) {
        check(
                JCudaDriver.cuLaunchKernel(
                        function, blocks, 1, 1, threads, 1, 1, 0, stream, Pointer.to(parameters), null),
                "cuLaunchKernel");
    }

    /** As many blocks as are on the GPU at a time, or as there is work for. */
    int blocks(long threads) {
        return (int) Math.clamp(Math.ceilDiv(threads, (long) BLOCK), 1, 4L * multiprocessors());
    }

    void record(CUevent event, CUstream stream) {
        check(JCudaDriver.cuEventRecord(event, stream), "cuEventRecord");
    }

    /** Waits for a stream's work. */
    void await(CUstream stream) {
        enter();
        check(JCudaDriver.cuStreamSynchronize(stream), "the work of a stream");
    }

    /** Time between two events that have happened, in us. */
    double micros(CUevent from, CUevent to) {
        float[] millis = new float[1];
        check(JCudaDriver.cuEventElapsedTime(millis, from, to), "cuEventElapsedTime");
        return 1e3 * millis[0];
    }

    /** Returns whether the driver lets this GPU's kernels and copies reach another's memory. */
    boolean canReach(Gpu other) {
        int[] can = new int[1];
        check(JCudaDriver.cuDeviceCanAccessPeer(can, device, other.device), "cuDeviceCanAccessPeer");
        return can[0] != 0;
    }

    /** Enables peer access to another GPU, and returns whether it is enabled. */
    boolean reaches(Gpu other) {
        if (!canReach(other)) {
            return false;
        }
        enter();
        int result = JCudaDriver.cuCtxEnablePeerAccess(other.context, 0);
        if (result == CUresult.CUDA_ERROR_TOO_MANY_PEERS || result == CUresult.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
            return false;
        }
        if (result != CUresult.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            check(result, "cuCtxEnablePeerAccess to " + other);
        }
        return true;
    }

    /** @throws MeasurementException if the driver's result is an error */
    void check(int result, String what) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw new MeasurementException(what + " on " + this + " failed: " + CUresult.stringFor(result));
        }
    }

    @Override
    public String toString() {
        return "GPU" + ordinal;
    }

    /** Frees what was made. Errors were reported by what came before, or do not matter any more. */
    @Override
    public void close() {
        if (JCudaDriver.cuCtxSetCurrent(context) == CUresult.CUDA_SUCCESS) {
            JCudaDriver.cuCtxSynchronize();
        }
        frees.forEach(Runnable::run);
        frees.clear();
    }
}
