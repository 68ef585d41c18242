package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverFunction;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.LaunchParameters;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.ptx.Element;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * All that a device needs to try peer access: nothing is made after its first copy. A trial moves 64 KiB. Used by one
 * thread at a time.
 */
public final class TrialSide {
    public static final int BYTES = 64 << 10;
    /** The greater one of two words, which are the same. */
    private static final Kernel.Reduce COPY = new Kernel.Reduce(ReduceOp.MAX, Element.I32, 2);

    private final CudaDevice device;
    private final DriverObjects objects;
    private final DriverStream stream;
    private final DeviceAddress sent;
    private final DeviceAddress received;
    private final HostBlock host;
    private final DriverFunction kernel;
    private final LaunchParameters parameters = new LaunchParameters(5, Arena.ofAuto());

    public TrialSide(CudaDevice device) {
        this.device = device;
        objects = new DriverObjects(device);
        try {
            stream = objects.stream();
            sent = objects.memory(BYTES);
            received = objects.memory(BYTES);
            host = objects.pinned(BYTES);
            kernel = device.function(COPY);
        } catch (Throwable e) {
            objects.free();
            throw e;
        }
    }

    /** Returns the address of the bytes that {@link #send} writes. */
    public long sent() {
        return sent.value();
    }

    /** Returns the address of memory for bytes of others. */
    long received() {
        return received.value();
    }

    /** Writes bytes that no trial with another seed writes. */
    public void send(long seed) {
        fill(host.memory(), seed);
        device.enter();
        check(JCudaDriver.cuMemcpyHtoDAsync(sent, host.pointer(), BYTES, stream), "cuMemcpyHtoDAsync");
    }

    private static void fill(MemorySegment bytes, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (long at = 0; at < BYTES; at += Long.BYTES) {
            bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
        }
    }

    /** Copies what was sent to another device. */
    void copyTo(TrialSide other) {
        device.enter();
        check(
                JCudaDriver.cuMemcpyDtoDAsync(other.received, sent, BYTES, stream),
                "cuMemcpyDtoDAsync to device " + other.device.ordinal());
    }

    /** Lets a kernel of this device copy from an address to another one. */
    public void copyByKernel(long target, long source) {
        device.enter();
        parameters.set(0, target);
        parameters.set(1, source);
        parameters.set(2, source);
        parameters.set(3, BYTES / COPY.element().bytes());
        parameters.set(4, 1);
        int blocks = BYTES / (COPY.bytesPerThread() * Kernel.BLOCK);
        check(parameters.launch(kernel, blocks, Kernel.BLOCK, stream), "cuLaunchKernel of " + COPY.name());
    }

    /** Copies bytes at an address of this device to the host. */
    public void receive(long address) {
        device.enter();
        check(
                JCudaDriver.cuMemcpyDtoHAsync(host.pointer(), new DeviceAddress(address), BYTES, stream),
                "cuMemcpyDtoHAsync");
    }

    /** Returns whether the bytes that came to the host are those that another one has sent. */
    public boolean holds(long seed) {
        MemorySegment expected = MemorySegment.ofArray(new byte[BYTES]);
        fill(expected, seed);
        return host.memory().mismatch(expected) < 0;
    }

    /**
     * Waits until all that was begun has ended, and returns false if it does not within the deadline.
     *
     * @param clock the time, as {@link System#nanoTime()}
     * @throws CudaException if it has failed
     */
    public boolean await(LongSupplier clock, long deadlineNanos) {
        int result = Waiting.until(() -> JCudaDriver.cuStreamQuery(stream), clock, deadlineNanos);
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            return false;
        }
        check(result, "a trial of peer access");
        return true;
    }

    /** Returns whether something that was begun is not known to have ended. */
    boolean isBusy() {
        return JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS;
    }

    private void check(int result, String what) {
        Cuda.check(result, what + " on device " + device.ordinal());
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        return objects.free();
    }
}
