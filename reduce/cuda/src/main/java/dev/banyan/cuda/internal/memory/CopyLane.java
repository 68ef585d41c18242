package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.HostAddress;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import jcuda.Pointer;
import jcuda.driver.CUevent;
import jcuda.driver.CUmemorytype;
import jcuda.driver.CUpointer_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Copies between the memory of one device and the host's, in a stream of their own: collectives do not delay them.
 * Pinned memory is copied at once. Other memory goes in parts through pinned staging memory of two halves: while the
 * device copies one half, the host copies the other.
 *
 * <p>Safe for use from any thread. Copies of one device follow each other.
 */
public final class CopyLane {
    /** Length of a half of the staging memory: long enough to keep a link busy. */
    private static final int PART_BYTES = 2 << 20;

    private final CudaDevice device;
    private final long timeoutNanos;
    private final LongSupplier clock;
    private final DriverObjects objects;
    private final ReentrantLock lock = new ReentrantLock();
    private final CUstream stream;
    /** Recorded behind the last copy of each half. */
    private final List<CUevent> copied;

    private @Nullable HostBlock staging;

    /**
     * @param timeoutNanos how long one copy of the driver may take
     * @param clock the time, as {@link System#nanoTime()}
     */
    public CopyLane(CudaDevice device, long timeoutNanos, LongSupplier clock) {
        this.device = device;
        this.timeoutNanos = timeoutNanos;
        this.clock = clock;
        objects = new DriverObjects(device);
        try {
            stream = objects.stream();
            copied = List.of(objects.event(), objects.event());
        } catch (Throwable e) {
            objects.free();
            throw e;
        }
    }

    /** Copies from the host and returns when the device has all bytes. */
    public void write(long target, MemorySegment source) {
        inTurn(source, () -> {
            if (isPinned(source)) {
                check(
                        JCudaDriver.cuMemcpyHtoDAsync(
                                new DeviceAddress(target),
                                new HostAddress(source.address()),
                                source.byteSize(),
                                stream),
                        "cuMemcpyHtoDAsync");
                settle(0);
                return;
            }
            HostBlock block = staging();
            long bytes = source.byteSize();
            for (long at = 0; at < bytes; at += PART_BYTES) {
                int half = half(at);
                long part = Math.min(PART_BYTES, bytes - at);
                await(half);
                MemorySegment.copy(source, at, block.memory(), (long) half * PART_BYTES, part);
                check(
                        JCudaDriver.cuMemcpyHtoDAsync(
                                new DeviceAddress(target + at), pointer(block, half), part, stream),
                        "cuMemcpyHtoDAsync");
                record(half);
            }
            await(half(bytes - 1));
        });
    }

    /** Returns the lane of a device that is known to have one. */
    public static CopyLane of(CudaDevice device, Map<CudaDevice, CopyLane> lanes) {
        CopyLane lane = lanes.get(device);
        if (lane == null) {
            throw new IllegalStateException("device " + device.ordinal() + " has no lane for copies");
        }
        return lane;
    }

    /** Copies to the host and returns when the host has all bytes. */
    void read(long source, MemorySegment target) {
        if (target.isReadOnly()) {
            throw new IllegalArgumentException(
                    "the host's memory, the target of a copy, is read-only; give memory that may be written");
        }
        inTurn(target, () -> {
            if (isPinned(target)) {
                check(
                        JCudaDriver.cuMemcpyDtoHAsync(
                                new HostAddress(target.address()),
                                new DeviceAddress(source),
                                target.byteSize(),
                                stream),
                        "cuMemcpyDtoHAsync");
                settle(0);
                return;
            }
            HostBlock block = staging();
            long bytes = target.byteSize();
            for (long at = 0; at < bytes + PART_BYTES; at += PART_BYTES) {
                if (at < bytes) {
                    check(
                            JCudaDriver.cuMemcpyDtoHAsync(
                                    pointer(block, half(at)),
                                    new DeviceAddress(source + at),
                                    Math.min(PART_BYTES, bytes - at),
                                    stream),
                            "cuMemcpyDtoHAsync");
                    record(half(at));
                }
                long before = at - PART_BYTES;
                if (before >= 0) {
                    await(half(before));
                    MemorySegment.copy(
                            block.memory(),
                            (long) half(before) * PART_BYTES,
                            target,
                            before,
                            Math.min(PART_BYTES, bytes - before));
                }
            }
        });
    }

    /** Fills memory of the device with zeros and returns when that is done. */
    public void clear(DeviceAddress target, long bytes) {
        inTurn(MemorySegment.NULL, () -> {
            check(JCudaDriver.cuMemsetD8Async(target, (byte) 0, bytes, stream), "cuMemsetD8Async");
            settle(0);
        });
    }

    /** Sets the words of memory of the device and returns when that is done. */
    public void fill(DeviceAddress target, int value, long words) {
        inTurn(MemorySegment.NULL, () -> {
            check(JCudaDriver.cuMemsetD32Async(target, value, words, stream), "cuMemsetD32Async");
            settle(0);
        });
    }

    /** Returns whether a copy is not known to have ended. */
    public boolean isBusy() {
        return JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS;
    }

    /**
     * Frees what the lane has; no copy is running.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        return objects.free();
    }

    /** Runs a copy when those before have ended or have had their time; keeps the host's memory reachable meanwhile. */
    private void inTurn(MemorySegment host, Runnable copy) {
        if (!lockInTime()) {
            throw late();
        }
        try {
            device.enter();
            // A copy that failed may have left work that uses the staging memory.
            await(0);
            await(1);
            copy.run();
        } finally {
            Reference.reachabilityFence(host);
            lock.unlock();
        }
    }

    /** Locks within the timeout; an interrupt is kept for the caller and does not end the wait. */
    private boolean lockInTime() {
        long deadline = System.nanoTime() + timeoutNanos;
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return lock.tryLock(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private HostBlock staging() {
        HostBlock block = staging;
        if (block == null) {
            block = objects.pinned(2L * PART_BYTES);
            staging = block;
        }
        return block;
    }

    private static int half(long at) {
        return (int) (at / PART_BYTES % 2);
    }

    private static Pointer pointer(HostBlock block, int half) {
        return block.pointer().withByteOffset((long) half * PART_BYTES);
    }

    private void settle(int half) {
        record(half);
        await(half);
    }

    private void record(int half) {
        check(JCudaDriver.cuEventRecord(copied.get(half), stream), "cuEventRecord");
    }

    /** Waits for the last copy of a half. */
    private void await(int half) {
        int result = Waiting.until(() -> JCudaDriver.cuEventQuery(copied.get(half)), clock, timeoutNanos);
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            throw late();
        }
        check(result, "a copy");
    }

    private CollectiveTimeoutException late() {
        return new CollectiveTimeoutException("a copy to or from device " + device.ordinal() + " did not end within "
                + Math.ceilDiv(timeoutNanos, 1_000_000)
                + " ms; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS");
    }

    private void check(int result, String what) {
        Cuda.check(result, what + " on device " + device.ordinal());
    }

    /**
     * Returns whether the driver can copy from and to memory of the host without a detour, and the calling thread may.
     */
    private static boolean isPinned(MemorySegment host) {
        return host.isNative()
                && host.scope().isAlive()
                && host.isAccessibleBy(Thread.currentThread())
                && isPinned(host.address())
                && isPinned(host.address() + host.byteSize() - 1);
    }

    private static boolean isPinned(long address) {
        DeviceAddress.Attribute type =
                new DeviceAddress(address).attribute(CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
        return type.result() == CUresult.CUDA_SUCCESS && type.value() == CUmemorytype.CU_MEMORYTYPE_HOST;
    }
}
