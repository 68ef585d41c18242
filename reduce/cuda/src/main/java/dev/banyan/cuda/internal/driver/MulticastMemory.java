package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.function.IntSupplier;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Addresses that stand for equally long memory of several devices: the switch between them stores to all of it, and
 * adds up what it loads from all of it. It takes an NVSwitch of the third generation, GPUs of sm_90 or later, and a
 * driver of CUDA 12.1 or later.
 */
public final class MulticastMemory {
    private static final Logger LOG = LoggerFactory.getLogger(MulticastMemory.class);
    private static final int MULTICAST_SUPPORTED = 132;

    private final long handle;
    private final long bytes;
    private final DeviceAddress address = new DeviceAddress();
    /** Undo what was done; the last is first. */
    private final Deque<IntSupplier> undoing = new ArrayDeque<>();

    private MulticastMemory(long handle, long bytes) {
        this.handle = handle;
        this.bytes = bytes;
        undoing.push(() -> DriverCalls.call("cuMemRelease", handle));
    }

    /**
     * Makes addresses for devices of one process.
     *
     * @param devices all devices
     * @param parts memory of each device, of one length
     * @throws CudaException if the driver refuses that
     */
    public static MulticastMemory joining(List<CudaDevice> devices, List<MappedMemory> parts) {
        MulticastMemory made = create(devices.size(), parts.getFirst().bytes(), 0);
        try {
            devices.forEach(made::add);
            made.map(devices, parts);
            return made;
        } catch (Throwable e) {
            int _ = made.free();
            throw e;
        }
    }

    /** Makes addresses; none, with a warning, where the driver refuses that. */
    public static Optional<MulticastMemory> of(List<CudaDevice> devices, List<MappedMemory> parts) {
        try {
            return Optional.of(joining(devices, parts));
        } catch (CudaException e) {
            warn(e.getMessage());
            return Optional.empty();
        }
    }

    /** Reports that there are no addresses. */
    public static void warn(@Nullable String reason) {
        LOG.warn(
                "the switch between the GPUs does not add up for kernels, which do it themselves: {}; see that the"
                        + " fabric manager runs",
                reason);
    }

    /**
     * Makes an object that other processes can take part in by {@link #descriptor}.
     *
     * @param devices the number of devices of all processes
     * @throws CudaException if the driver refuses that
     */
    public static MulticastMemory exportable(int devices, long bytes) {
        return create(devices, bytes, MappedMemory.DESCRIPTOR);
    }

    private static MulticastMemory create(int devices, long bytes, long handleTypes) {
        try (Arena arena = Arena.ofConfined()) {
            // CUmulticastObjectProp: the number of devices, the length, the types of handles and the flags.
            MemorySegment properties = arena.allocate(ValueLayout.JAVA_LONG, 4);
            properties.set(ValueLayout.JAVA_INT, 0, devices);
            properties.setAtIndex(ValueLayout.JAVA_LONG, 1, bytes);
            properties.setAtIndex(ValueLayout.JAVA_LONG, 2, handleTypes);
            MemorySegment created = arena.allocate(ValueLayout.JAVA_LONG);
            call("cuMulticastCreate", created, properties);
            return new MulticastMemory(created.get(ValueLayout.JAVA_LONG, 0), bytes);
        }
    }

    /** Takes part in an object of another process, whose descriptor stays the caller's. */
    public static MulticastMemory imported(int descriptor, long bytes) {
        return new MulticastMemory(MappedMemory.importHandle(descriptor, " of a multicast object"), bytes);
    }

    /** Returns a descriptor of an exportable object, which the caller closes. */
    public int descriptor() {
        return MappedMemory.exportHandle(handle);
    }

    /** Adds a device of this process. */
    public void add(CudaDevice device) {
        call("cuMulticastAddDevice", handle, device.ordinal());
    }

    /**
     * Binds memory of this process, and maps the addresses. All processes have added their devices: the driver would
     * wait for them without a limit.
     *
     * @param devices those of this process
     * @param parts memory of each of them, as long as the object
     */
    public void map(List<CudaDevice> devices, List<MappedMemory> parts) {
        for (int d = 0; d < devices.size(); d++) {
            int ordinal = devices.get(d).ordinal();
            call("cuMulticastBindAddr", handle, 0L, parts.get(d).address().value(), bytes, 0L);
            undoing.push(() -> DriverCalls.call("cuMulticastUnbind", handle, ordinal, 0L, bytes));
        }
        Cuda.check(
                JCudaDriver.cuMemAddressReserve(address, bytes, 0, new CUdeviceptr(), 0),
                "cuMemAddressReserve of multicast addresses");
        undoing.push(() -> JCudaDriver.cuMemAddressFree(address, bytes));
        call("cuMemMap", address.value(), bytes, 0L, handle, 0L);
        undoing.push(() -> JCudaDriver.cuMemUnmap(address, bytes));
        Cuda.check(MappedMemory.setAccess(address.value(), bytes, devices), "cuMemSetAccess of multicast addresses");
    }

    private static void call(String function, Object... arguments) {
        Cuda.check(DriverCalls.call(function, arguments), function);
    }

    /** Returns whether the driver says that all devices can take part; an older one does not know the attribute. */
    public static boolean isSupported(List<CudaDevice> devices) {
        return devices.stream().allMatch(device -> isSupported(device.handle()));
    }

    /** Returns the same for a device of a process. */
    public static boolean isSupported(CUdevice device) {
        int[] supported = new int[1];
        return JCudaDriver.cuDeviceGetAttribute(supported, MULTICAST_SUPPORTED, device) == CUresult.CUDA_SUCCESS
                && supported[0] != 0;
    }

    public long address() {
        return address.value();
    }

    /** Gives the addresses back, which nothing uses any more, before the memory, and returns the driver's result. */
    public int free() {
        int result = CUresult.CUDA_SUCCESS;
        for (IntSupplier undo = undoing.poll(); undo != null; undo = undoing.poll()) {
            int undone = undo.getAsInt();
            result = result == CUresult.CUDA_SUCCESS ? undone : result;
        }
        return result;
    }
}
