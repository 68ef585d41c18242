package dev.banyan.cuda;

import dev.banyan.schedule.type.ReduceOp;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tries whether peer access that the driver grants works: where the IOMMU or PCIe access control redirects peer-to-peer
 * traffic, it corrupts data or hangs. A device writes 64 KiB to its peer by a copy and reads 64 KiB from it by a
 * kernel. No wait is longer than a deadline, and a device on which a trial did not end is not tried again. What was
 * found counts for the life of the process.
 *
 * <p>Trials of a process follow each other. Safe for use from any thread.
 */
final class PeerTrials {
    private static final Logger LOG = LoggerFactory.getLogger(PeerTrials.class);
    private static final int BYTES = 64 << 10;
    /** Far more than 64 KiB take on a device that is busy with other collectives. */
    private static final long MOST_NANOS = 2_000_000_000L;
    /** The greater one of two words, which are the same word of the peer. */
    private static final Kernel.Reduce LOAD = new Kernel.Reduce(ReduceOp.MAX, Element.I32, 2);

    private record Pair(int from, int to) {}

    private enum Outcome {
        WORKS(""),
        WRONG_BYTES("other bytes arrive than were sent"),
        STUCK("copies or loads do not end"),
        /** Whatever a trial asks of a device on which another one is stuck may wait for that, without a deadline. */
        UNTRIED("it is not tried, as copies or loads between one of them and a third device do not end");

        private final String trouble;

        Outcome(String trouble) {
            this.trouble = trouble;
        }
    }

    /** Its lock makes trials follow each other. */
    private static final Map<Pair, Outcome> OUTCOMES = new HashMap<>();
    /** Ordinals of devices on which a trial is stuck; guarded by the same lock. */
    private static final Set<Integer> STUCK_DEVICES = new HashSet<>();

    private final long deadlineNanos;
    /** What a device is tried with. */
    private final Map<CudaDevice, Side> sides = new ConcurrentHashMap<>();

    /** @param timeoutNanos how long a collective may take */
    PeerTrials(long timeoutNanos) {
        deadlineNanos = Math.min(timeoutNanos, MOST_NANOS);
    }

    /** All that a device needs for its trials: nothing is made after their first copy. */
    private static final class Side {
        final CudaDevice device;
        final DriverObjects objects;
        final CUstream stream;
        final DeviceAddress sent;
        final DeviceAddress received;
        final HostBlock host;
        final CUfunction load;

        Side(CudaDevice device) {
            this.device = device;
            objects = new DriverObjects(device);
            try {
                stream = objects.stream();
                sent = objects.memory(BYTES);
                received = objects.memory(BYTES);
                host = objects.pinned(BYTES);
                load = device.function(LOAD);
            } catch (Throwable e) {
                objects.free();
                throw e;
            }
        }

        void check(int result, String what) {
            Cuda.check(result, what + " on device " + device.ordinal());
        }

        /** Sends bytes that no other trial sends. */
        void send(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            for (long at = 0; at < BYTES; at += Long.BYTES) {
                host.memory().set(ValueLayout.JAVA_LONG_UNALIGNED, at, random.nextLong());
            }
            device.enter();
            check(JCudaDriver.cuMemcpyHtoDAsync(sent, host.pointer(), BYTES, stream), "cuMemcpyHtoDAsync");
        }

        void receive() {
            device.enter();
            check(JCudaDriver.cuMemcpyDtoHAsync(host.pointer(), received, BYTES, stream), "cuMemcpyDtoHAsync");
        }

        boolean isBusy() {
            return JCudaDriver.cuStreamQuery(stream) != CUresult.CUDA_SUCCESS;
        }
    }

    /** The deadline has passed. */
    private static final class LateException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /**
     * Whether one device really reaches another one's memory. A warning says that it does not.
     *
     * @param from a device with access to the memory of {@code to}
     * @throws CudaException if the driver fails
     */
    boolean works(CudaDevice from, CudaDevice to) {
        synchronized (OUTCOMES) {
            Pair pair = new Pair(from.ordinal(), to.ordinal());
            Outcome outcome = OUTCOMES.get(pair);
            if (outcome == null) {
                outcome = tryOut(from, to);
                OUTCOMES.put(pair, outcome);
                if (outcome != Outcome.WORKS) {
                    OUTCOMES.put(new Pair(to.ordinal(), from.ordinal()), outcome);
                    LOG.warn(
                            "peer access between devices {} and {} does not work ({}); their data goes through the"
                                    + " host's memory, which is slower; turn off PCIe access control (ACS) and the"
                                    + " IOMMU, or give the IOMMU the mode of pass-through",
                            from.ordinal(),
                            to.ordinal(),
                            outcome.trouble);
                }
            }
            return outcome == Outcome.WORKS;
        }
    }

    private Outcome tryOut(CudaDevice from, CudaDevice to) {
        if (STUCK_DEVICES.contains(from.ordinal()) || STUCK_DEVICES.contains(to.ordinal())) {
            return Outcome.UNTRIED;
        }
        Side near = sides.computeIfAbsent(from, Side::new);
        Side far = sides.computeIfAbsent(to, Side::new);
        try {
            return copyArrives(near, far) && loadArrives(near, far) ? Outcome.WORKS : Outcome.WRONG_BYTES;
        } catch (LateException e) {
            STUCK_DEVICES.add(from.ordinal());
            STUCK_DEVICES.add(to.ordinal());
            return Outcome.STUCK;
        }
    }

    private boolean copyArrives(Side near, Side far) {
        near.send(near.device.ordinal());
        near.check(
                JCudaDriver.cuMemcpyDtoDAsync(far.received, near.sent, BYTES, near.stream),
                "cuMemcpyDtoDAsync to device " + far.device.ordinal());
        await(near);
        far.receive();
        await(far);
        return far.host.memory().mismatch(near.host.memory()) < 0;
    }

    private boolean loadArrives(Side near, Side far) {
        far.send(-1 - far.device.ordinal());
        await(far);
        near.device.enter();
        int blocks = BYTES / (LOAD.bytesPerThread() * Kernel.BLOCK);
        Pointer parameters = Pointer.to(
                (NativePointerObject) Pointer.to(near.received),
                Pointer.to(far.sent),
                Pointer.to(far.sent),
                Pointer.to(new long[] {BYTES / LOAD.element().bytes()}),
                Pointer.to(new int[] {1}));
        near.check(
                JCudaDriver.cuLaunchKernel(
                        near.load, blocks, 1, 1, Kernel.BLOCK, 1, 1, 0, near.stream, parameters, null),
                "cuLaunchKernel of " + LOAD.name());
        near.receive();
        await(near);
        return near.host.memory().mismatch(far.host.memory()) < 0;
    }

    private void await(Side side) {
        int result = Waiting.until(() -> JCudaDriver.cuStreamQuery(side.stream), System.nanoTime() + deadlineNanos);
        if (result == CUresult.CUDA_ERROR_NOT_READY) {
            throw new LateException();
        }
        side.check(result, "a trial of peer access");
    }

    /** Whether a trial is not known to have ended. */
    boolean isBusy() {
        return sides.values().stream().anyMatch(Side::isBusy);
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    List<Integer> free() {
        List<Integer> results = new ArrayList<>();
        sides.values().forEach(side -> results.addAll(side.objects.free()));
        sides.clear();
        return results;
    }

    /** Forgets what was found, for tests that play a new process. */
    static void forget() {
        synchronized (OUTCOMES) {
            OUTCOMES.clear();
            STUCK_DEVICES.clear();
        }
    }
}
