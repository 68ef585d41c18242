package dev.banyan.cuda.internal.peer;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DriverThreads;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.type.CudaException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Enables peer access and tries whether graphs can use it: where the IOMMU or PCIe access control redirects
 * peer-to-peer traffic, it corrupts data or hangs. A device writes 64 KiB to its peer by a copy and reads 64 KiB from
 * it by a kernel. No wait is longer than a deadline. After a late enabling or trial neither of its two devices is given
 * further peers: other calls of the driver there could wait without a deadline. What was found counts for the life of
 * the process.
 *
 * <p>Trials of a process follow each other. Safe for use from any thread.
 */
public final class PeerTrials {
    private static final Logger LOG = LoggerFactory.getLogger(PeerTrials.class);
    /** Far more than 64 KiB take on a device that is busy with other collectives. */
    static final long MOST_NANOS = 2_000_000_000L;

    static final String REDIRECTION_REMEDY =
            "turn off PCIe access control (ACS) and the IOMMU, or give the IOMMU the mode of pass-through";

    private record Pair(int from, int to) {}

    /** True for pairs whose peer access works. The lock makes trials follow each other. */
    private static final Map<Pair, Boolean> OUTCOMES = new HashMap<>();
    /** Ordinals of devices on which an enabling or a trial was late; guarded by the same lock. */
    private static final Set<Integer> STUCK_DEVICES = new HashSet<>();

    private final long deadlineNanos;
    private final boolean tries;
    private final LongSupplier clock;
    /** Enablings that did not end in time. */
    private final Queue<CompletableFuture<Integer>> late = new ConcurrentLinkedQueue<>();
    /** The memory and stream with which a device is tried. */
    private final Map<CudaDevice, TrialSide> sides = new ConcurrentHashMap<>();

    /**
     * @param timeoutNanos how long a collective may take
     * @param tries whether enabled access is tried; else the driver is believed
     * @param clock the time, as {@link System#nanoTime()}
     */
    public PeerTrials(long timeoutNanos, boolean tries, LongSupplier clock) {
        this.tries = tries;
        this.clock = clock;
        deadlineNanos = Math.min(timeoutNanos, MOST_NANOS);
    }

    /** The deadline has passed. */
    private static final class LateException extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /**
     * Enables access of one device to another one's memory. The driver's documentation leaves open whether that waits
     * for work of the two devices, so the call has a thread of its own.
     *
     * @return the driver's result; CUDA_ERROR_NOT_READY if there is none in time or if a device is stuck
     */
    int enable(CudaDevice from, CudaDevice to) {
        synchronized (OUTCOMES) {
            if (isStuck(from, to)) {
                return CUresult.CUDA_ERROR_NOT_READY;
            }
            CompletableFuture<Integer> call = CompletableFuture.supplyAsync(
                    () -> {
                        int fault = from.fault();
                        return fault == CUresult.CUDA_SUCCESS
                                ? JCudaDriver.cuCtxEnablePeerAccess(to.context(), 0)
                                : fault;
                    },
                    DriverThreads.NEW);
            Waiting.whileBusy(() -> !call.isDone(), clock, deadlineNanos);
            int result = call.isDone() ? call.join() : CUresult.CUDA_ERROR_NOT_READY;
            if (result == CUresult.CUDA_ERROR_NOT_READY) {
                late.add(call);
                noteStuck(
                        from,
                        to,
                        "was not enabled within " + Math.ceilDiv(deadlineNanos, 1_000_000)
                                + " ms (the driver waits for other work of this process)",
                        "start a new process, and let that work end before the first collective");
            }
            return result;
        }
    }

    /**
     * Returns whether one device really reaches another one's memory. A warning says that it does not.
     *
     * @param from a device with access to the memory of {@code to}
     * @throws CudaException if the driver fails
     */
    boolean works(CudaDevice from, CudaDevice to) {
        if (!tries) {
            return true;
        }
        synchronized (OUTCOMES) {
            Boolean known = OUTCOMES.get(new Pair(from.ordinal(), to.ordinal()));
            return known == null ? !isStuck(from, to) && tryOut(from, to) : known;
        }
    }

    /** Returns whether an enabling or a trial was late on one of two devices. */
    static boolean isStuck(CudaDevice from, CudaDevice to) {
        synchronized (OUTCOMES) {
            return STUCK_DEVICES.contains(from.ordinal()) || STUCK_DEVICES.contains(to.ordinal());
        }
    }

    static void noteStuck(CudaDevice from, CudaDevice to, String trouble, String remedy) {
        synchronized (OUTCOMES) {
            STUCK_DEVICES.add(from.ordinal());
            STUCK_DEVICES.add(to.ordinal());
        }
        LOG.warn(
                "peer access between devices {} and {} {}; data of these devices goes through the host's memory, which"
                        + " is slower, except to and from peers that were tried before; {}",
                from.ordinal(),
                to.ordinal(),
                trouble,
                remedy);
    }

    private boolean tryOut(CudaDevice from, CudaDevice to) {
        TrialSide near = sides.computeIfAbsent(from, TrialSide::new);
        TrialSide far = sides.computeIfAbsent(to, TrialSide::new);
        boolean works = false;
        try {
            works = copyArrives(from, near, far) && loadArrives(near, to, far);
            if (!works) {
                LOG.warn(
                        "peer access between devices {} and {} does not work (other bytes arrive than were sent);"
                                + " their data goes through the host's memory, which is slower; {}",
                        from.ordinal(),
                        to.ordinal(),
                        REDIRECTION_REMEDY);
            }
        } catch (LateException e) {
            noteStuck(from, to, "does not work (copies or loads do not end)", REDIRECTION_REMEDY);
        }
        OUTCOMES.put(new Pair(from.ordinal(), to.ordinal()), works);
        if (!works) {
            OUTCOMES.put(new Pair(to.ordinal(), from.ordinal()), false);
        }
        return works;
    }

    private boolean copyArrives(CudaDevice from, TrialSide near, TrialSide far) {
        near.send(from.ordinal());
        near.copyTo(far);
        await(near);
        far.receive(far.received());
        await(far);
        return far.holds(from.ordinal());
    }

    private boolean loadArrives(TrialSide near, CudaDevice to, TrialSide far) {
        long seed = -1L - to.ordinal();
        far.send(seed);
        await(far);
        near.copyByKernel(near.received(), far.sent());
        near.receive(near.received());
        await(near);
        return near.holds(seed);
    }

    private void await(TrialSide side) {
        if (!side.await(clock, deadlineNanos)) {
            throw new LateException();
        }
    }

    /** Returns whether an enabling or a trial is not known to have ended. */
    public boolean isBusy() {
        return late.stream().anyMatch(call -> !call.isDone())
                || sides.values().stream().anyMatch(TrialSide::isBusy);
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        List<Integer> results = new ArrayList<>();
        sides.values().forEach(side -> results.addAll(side.free()));
        sides.clear();
        return results;
    }

    /** Forgets what was found, for tests that play a new process. */
    public static void forget() {
        synchronized (OUTCOMES) {
            OUTCOMES.clear();
            STUCK_DEVICES.clear();
        }
    }
}
