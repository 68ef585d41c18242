package dev.banyan.cuda.internal.driver;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.IntSupplier;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;

/** Objects of the driver in one device's context, which are freed together. Used by one thread at a time. */
public final class DriverObjects {
    private final CudaDevice device;
    /** Free the objects; the youngest is first. */
    private final Deque<IntSupplier> frees = new ArrayDeque<>();

    public DriverObjects(CudaDevice device) {
        this.device = device;
    }

    /** Returns a stream that neither waits for the default stream nor delays it. */
    public DriverStream stream() {
        device.enter();
        DriverStream stream = new DriverStream();
        check(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_NON_BLOCKING), "cuStreamCreate");
        frees.push(() -> JCudaDriver.cuStreamDestroy(stream));
        return stream;
    }

    /**
     * Returns a stream of the highest priority. Blocks of a collective, which wait for those of other devices, then
     * start before pending blocks of kernels that compute.
     */
    public DriverStream urgentStream() {
        device.enter();
        int[] highest = new int[1];
        check(JCudaDriver.cuCtxGetStreamPriorityRange(new int[1], highest), "cuCtxGetStreamPriorityRange");
        DriverStream stream = new DriverStream();
        check(
                JCudaDriver.cuStreamCreateWithPriority(stream, CUstream_flags.CU_STREAM_NON_BLOCKING, highest[0]),
                "cuStreamCreateWithPriority");
        frees.push(() -> JCudaDriver.cuStreamDestroy(stream));
        return stream;
    }

    /** Returns an event without a time. */
    public CUevent event() {
        device.enter();
        CUevent event = new CUevent();
        check(JCudaDriver.cuEventCreate(event, CUevent_flags.CU_EVENT_DISABLE_TIMING), "cuEventCreate");
        frees.push(() -> JCudaDriver.cuEventDestroy(event));
        return event;
    }

    /** Returns memory of the device. Its contents are undefined. */
    public DeviceAddress memory(long bytes) {
        DeviceAddress address = device.allocate(bytes, "");
        frees.push(() -> JCudaDriver.cuMemFree(address));
        return address;
    }

    /** Returns pinned memory of the host. Its contents are undefined. */
    public HostBlock pinned(long bytes) {
        device.enter();
        HostBlock block = new HostBlock(bytes);
        frees.push(block::free);
        return block;
    }

    private void check(int result, String what) {
        Cuda.check(result, what + " on device " + device.ordinal());
    }

    /**
     * Frees all objects.
     *
     * @return results of the driver; errors are to be expected on a device with a {@link CudaDevice#fault}
     */
    public List<Integer> free() {
        device.fault();
        List<Integer> results = frees.stream().map(IntSupplier::getAsInt).toList();
        frees.clear();
        return results;
    }
}
