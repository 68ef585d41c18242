package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.CudaException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.CUuuid;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * One GPU: its primary context, which the process shares, and the kernels that were loaded into it. {@link #enter},
 * {@link #tryEnter}, {@link #allocate}, {@link #function}, {@link #fault} and {@link #isFaulty} are safe for use from
 * any thread; the others are used by one thread at a time.
 */
public final class CudaDevice implements AutoCloseable {
    /** The compute capability of Volta, the first with the instructions that the kernels use. */
    private static final int LEAST_CAPABILITY = 70;

    /** JCuda would replace null by an array of the Java heap. */
    private static final Pointer NO_OPTIONS = Pointer.to(ByteBuffer.allocateDirect(Long.BYTES));

    private record Loaded(CUmodule module, DriverFunction function) {}

    private final int ordinal;
    private final CUdevice device = new CUdevice();
    private final CUcontext context = new CUcontext();
    private final int multiprocessors;
    private final Map<Kernel, Loaded> kernels = new HashMap<>();
    /** Nothing is put into it, and it waits for no other one, so that a query gives the errors of the device alone. */
    private final CUstream idle = new CUstream();

    /** Null if the driver does not identify the device. */
    private final @Nullable GpuClaim claim;

    private @Nullable DeviceAddress one;

    /** @param ordinal as the driver counts devices */
    public CudaDevice(int ordinal) {
        this.ordinal = ordinal;
        Cuda.check(JCudaDriver.cuDeviceGet(device, ordinal), "cuDeviceGet of device " + ordinal);
        multiprocessors = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        int major = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        int minor = attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        if (10 * major + minor < LEAST_CAPABILITY) {
            throw new CudaException("device " + ordinal + " has compute capability " + major + "." + minor
                    + ", but the kernels need 7.0 (Volta) or later; leave it out");
        }
        Cuda.check(
                JCudaDriver.cuDevicePrimaryCtxRetain(context, device), "cuDevicePrimaryCtxRetain on device " + ordinal);
        try {
            CallerContext.keep(
                    this,
                    () -> Cuda.check(
                            JCudaDriver.cuStreamCreate(idle, CUstream_flags.CU_STREAM_NON_BLOCKING),
                            "cuStreamCreate on device " + ordinal));
        } catch (Throwable e) {
            JCudaDriver.cuDevicePrimaryCtxRelease(device);
            throw e;
        }
        CUuuid uuid = new CUuuid();
        claim = JCudaDriver.cuDeviceGetUuid(uuid, device) == CUresult.CUDA_SUCCESS
                ? GpuClaim.of(HexFormat.of().formatHex(uuid.bytes), "device " + ordinal)
                : null;
    }

    /** Returns an attribute of the device, by CUdevice_attribute. */
    int attribute(int attribute) {
        return attribute(device, ordinal, attribute);
    }

    /** Returns an attribute of a device, which need not be open. */
    static int attribute(CUdevice device, int ordinal, int attribute) {
        int[] value = new int[1];
        Cuda.check(
                JCudaDriver.cuDeviceGetAttribute(value, attribute, device),
                "cuDeviceGetAttribute of device " + ordinal);
        return value[0];
    }

    public int ordinal() {
        return ordinal;
    }

    public CUdevice handle() {
        return device;
    }

    public CUcontext context() {
        return context;
    }

    public int multiprocessors() {
        return multiprocessors;
    }

    /** Makes the calling thread's driver calls go to this device. */
    public void enter() {
        Cuda.check(JCudaDriver.cuCtxSetCurrent(context), "cuCtxSetCurrent", "", this);
    }

    /** Does the same where the driver lets it, and returns whether it did. */
    public boolean tryEnter() {
        return JCudaDriver.cuCtxSetCurrent(context) == CUresult.CUDA_SUCCESS;
    }

    /** A kernel, compiled by the driver when it is first asked for. */
    public synchronized DriverFunction function(Kernel kernel) {
        return kernels.computeIfAbsent(kernel, this::load).function();
    }

    /** Returns the number of blocks of a kernel that can be on the device at once. */
    public int residentBlocks(Kernel kernel, int threads) {
        DriverFunction function = function(kernel);
        enter();
        int[] blocks = new int[1];
        Cuda.check(
                JCudaDriver.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, 0),
                "cuOccupancyMaxActiveBlocksPerMultiprocessor of " + kernel.name() + " on device " + ordinal);
        return blocks[0] * multiprocessors;
    }

    private Loaded load(Kernel kernel) {
        enter();
        CUmodule module = new CUmodule();
        // From native memory, for the reason that LaunchParameters gives: the driver may let a load wait for kernels.
        try (Arena arena = Arena.ofConfined()) {
            ByteBuffer text = arena.allocateFrom(ValueLayout.JAVA_BYTE, KernelTexts.of(kernel))
                    .asByteBuffer();
            Cuda.check(
                    JCudaDriver.cuModuleLoadDataEx(module, Pointer.to(text), 0, new int[0], NO_OPTIONS),
                    "loading the kernel " + kernel.name() + " on device " + ordinal);
        }
        DriverFunction function = new DriverFunction();
        int result = JCudaDriver.cuModuleGetFunction(function, module, kernel.name());
        if (result != CUresult.CUDA_SUCCESS) {
            JCudaDriver.cuModuleUnload(module);
        }
        Cuda.check(result, "finding the kernel " + kernel.name() + " on device " + ordinal);
        return new Loaded(module, function);
    }

    /**
     * Allocates memory. The calling thread's driver calls then go to this device, as after {@link #enter}.
     *
     * @param bytes its length
     * @param purpose what it is for, for messages, e.g. {@code  for tables}; may be empty
     */
    public DeviceAddress allocate(long bytes, String purpose) {
        enter();
        DeviceAddress address = new DeviceAddress();
        Cuda.check(
                JCudaDriver.cuMemAlloc(address, bytes),
                "cuMemAlloc of " + bytes + " bytes" + purpose + " on device " + ordinal);
        return address;
    }

    /**
     * Allocates the word that {@link #one} is the address of.
     *
     * @param setting sets it to 1
     */
    public void makeOne(Consumer<DeviceAddress> setting) {
        DeviceAddress word = allocate(4, "");
        one = word;
        setting.accept(word);
    }

    /** Returns the address of a 32-bit 1 in the device's memory. */
    public long one() {
        return Objects.requireNonNull(one).value();
    }

    /**
     * Returns the error that every call on this device gives since something went wrong there, or CUDA_SUCCESS. The
     * calling thread's driver calls then go to this device, as after {@link #enter}.
     */
    public int fault() {
        int entered = JCudaDriver.cuCtxSetCurrent(context);
        if (entered != CUresult.CUDA_SUCCESS) {
            return entered;
        }
        return error();
    }

    /** Returns whether something went wrong on the device. Cheaper than {@link #fault}, as no context changes. */
    public boolean isFaulty() {
        return error() != CUresult.CUDA_SUCCESS;
    }

    private int error() {
        int result = JCudaDriver.cuStreamQuery(idle);
        return CaptureMode.isRefusal(result) ? CUresult.CUDA_SUCCESS : result;
    }

    /** Gives the kernels and the context back. On a device with a {@link #fault} the driver has done so already. */
    @Override
    public void close() {
        if (claim != null) {
            claim.close();
        }
        boolean sound = fault() == CUresult.CUDA_SUCCESS;
        for (Loaded loaded : kernels.values()) {
            int result = JCudaDriver.cuModuleUnload(loaded.module());
            if (sound) {
                Cuda.check(result, "cuModuleUnload on device " + ordinal);
            }
        }
        kernels.clear();
        if (one != null) {
            int result = JCudaDriver.cuMemFree(one);
            if (sound) {
                Cuda.check(result, "cuMemFree on device " + ordinal);
            }
        }
        JCudaDriver.cuStreamDestroy(idle);
        int result = JCudaDriver.cuDevicePrimaryCtxRelease(device);
        if (sound) {
            Cuda.check(result, "cuDevicePrimaryCtxRelease on device " + ordinal);
        }
    }
}
