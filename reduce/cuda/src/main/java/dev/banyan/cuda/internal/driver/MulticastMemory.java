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
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
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

    private final DeviceAddress address = new DeviceAddress();
    /** Undo what was done; the last is first. */
    private final Deque<IntSupplier> undoing = new ArrayDeque<>();

    /**
     * @param devices all devices
     * @param parts memory of each device, of one length
     * @throws CudaException if the driver refuses that
     */
    public MulticastMemory(List<CudaDevice> devices, List<MappedMemory> parts) {
        long bytes = parts.getFirst().bytes();
        try (Arena arena = Arena.ofConfined()) {
            make(devices, parts, bytes, arena);
        } catch (Throwable e) {
            int _ = free();
            throw e;
        }
    }

    /** Makes addresses; none, with a warning, where the driver refuses that. */
    public static Optional<MulticastMemory> of(List<CudaDevice> devices, List<MappedMemory> parts) {
        try {
            return Optional.of(new MulticastMemory(devices, parts));
        } catch (CudaException e) {
            LOG.warn(
                    "the switch between the GPUs does not add up for kernels, which do it themselves: {}; see that the"
                            + " fabric manager runs",
                    e.getMessage());
            return Optional.empty();
        }
    }

    private void make(List<CudaDevice> devices, List<MappedMemory> parts, long bytes, Arena arena) {
        // CUmulticastObjectProp: the number of devices, the length, the types of handles and the flags.
        MemorySegment properties = arena.allocate(ValueLayout.JAVA_LONG, 4);
        properties.set(ValueLayout.JAVA_INT, 0, devices.size());
        properties.setAtIndex(ValueLayout.JAVA_LONG, 1, bytes);
        MemorySegment created = arena.allocate(ValueLayout.JAVA_LONG);
        call("cuMulticastCreate", created, properties);
        long handle = created.get(ValueLayout.JAVA_LONG, 0);
        undoing.push(() -> DriverCalls.call("cuMemRelease", handle));
        for (CudaDevice device : devices) {
            call("cuMulticastAddDevice", handle, device.ordinal());
        }
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
        return devices.stream().allMatch(MulticastMemory::isSupported);
    }

    private static boolean isSupported(CudaDevice device) {
        int[] supported = new int[1];
        return JCudaDriver.cuDeviceGetAttribute(supported, MULTICAST_SUPPORTED, device.handle())
                        == CUresult.CUDA_SUCCESS
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
