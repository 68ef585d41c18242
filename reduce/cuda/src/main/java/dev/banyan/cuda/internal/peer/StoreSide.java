package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.driver.DriverObjects;
import dev.banyan.cuda.internal.driver.DriverStream;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.driver.LaunchOrder;
import dev.banyan.cuda.internal.driver.LaunchParameters;
import dev.banyan.cuda.internal.ptx.Kernel;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/**
 * All that a device needs to exchange bytes with other devices as programs do: nothing is made after the first
 * exchange. Used by one thread at a time.
 */
public final class StoreSide {
    private static final int FLAG_BYTES = 128;
    private static final int DATA = Kernel.StoreTrial.DATA_BYTES;
    /** Bytes of a device's memory into which one other device stores: data and a flag. */
    public static final long AREA_BYTES = DATA + FLAG_BYTES;

    private static final Kernel TRIAL = new Kernel.StoreTrial();

    private final CudaDevice device;
    private final DriverObjects objects;
    private final DriverStream stream;
    private final LaunchOrder.Turns turns;
    private final CUevent ended;
    private final DeviceAddress source;
    private final DeviceAddress seen;
    private final HostBlock sent;
    private final HostBlock arrived;
    private final HostBlock control;
    private final LaunchParameters parameters = new LaunchParameters(8, Arena.ofAuto());

    public StoreSide(CudaDevice device) {
        this.device = device;
        objects = new DriverObjects(device);
        try {
            stream = objects.stream();
            turns = new LaunchOrder.Turns(device, stream);
            ended = objects.event();
            source = objects.memory(DATA);
            seen = objects.memory(DATA);
            sent = objects.pinned(DATA);
            arrived = objects.pinned(DATA);
            control = objects.pinned(16);
            control.memory().fill((byte) 0);
            device.function(TRIAL);
        } catch (Throwable e) {
            objects.free();
            throw e;
        }
    }

    /**
     * Exchanges bytes between devices.
     *
     * @param sides of this process
     * @param launches makes the launch of each side
     */
    public static void exchange(List<StoreSide> sides, Runnable launches) {
        // A call for a device whose kernel waits could wait for it, too, until the other kernel has been launched.
        LaunchOrder.inOneOrder(() -> {
            launches.run();
            sides.forEach(StoreSide::end);
        });
    }

    /**
     * Launches an exchange, as one side of {@link #exchange}.
     *
     * @param seed of the bytes that are sent
     * @param value greater than those of earlier exchanges; the same on both sides
     * @param far address of the area of this device in the other one's memory
     * @param near address of the area of the other one in this device's memory
     */
    public void launch(long seed, long value, long far, long near) {
        control.memory().set(ValueLayout.JAVA_LONG, Kernel.StoreTrial.ABORT, 0);
        fill(sent.memory(), seed);
        device.enter();
        turns.begin();
        check(JCudaDriver.cuMemcpyHtoDAsync(source, sent.pointer(), DATA, stream), "cuMemcpyHtoDAsync");
        check(JCudaDriver.cuMemsetD8Async(seen, (byte) 0, DATA, stream), "cuMemsetD8Async");
        long[] words = {source.value(), far, far + DATA, near, near + DATA, seen.value(), control.address(), value};
        for (int w = 0; w < words.length; w++) {
            parameters.set(w, words[w]);
        }
        check(parameters.launch(device.function(TRIAL), 1, Kernel.BLOCK, stream), "cuLaunchKernel of " + TRIAL.name());
    }

    private void end() {
        device.enter();
        check(JCudaDriver.cuMemcpyDtoHAsync(arrived.pointer(), seen, DATA, stream), "cuMemcpyDtoHAsync");
        turns.end(ended, "a trial of peer access");
    }

    private static void fill(MemorySegment bytes, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        for (long at = 0; at < DATA; at += Long.BYTES) {
            bytes.set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
        }
    }

    /** Returns whether the kernel of an exchange has begun. */
    boolean hasBegun(long value) {
        return control.memory().get(ValueLayout.JAVA_LONG, Kernel.StoreTrial.BEGUN) >= value;
    }

    /** Lets the exchange end without the bytes of the other device. */
    public void stop() {
        control.memory().set(ValueLayout.JAVA_LONG, Kernel.StoreTrial.ABORT, 1);
    }

    /**
     * Returns CUDA_SUCCESS if nothing is under way, CUDA_ERROR_NOT_READY if an exchange is, or the error with which it
     * has ended.
     */
    public int result() {
        return JCudaDriver.cuStreamQuery(stream);
    }

    /** Returns whether the exchange that has ended brought the bytes that a seed gives. */
    public boolean has(long seed) {
        MemorySegment expected = MemorySegment.ofArray(new byte[DATA]);
        fill(expected, seed);
        return arrived.memory().mismatch(expected) < 0;
    }

    private void check(int result, String what) {
        Cuda.check(result, what + " on device " + device.ordinal());
    }

    /** Returns whether something that was begun is not known to have ended. */
    boolean isBusy() {
        return result() != CUresult.CUDA_SUCCESS;
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        turns.close();
        return objects.free();
    }
}
