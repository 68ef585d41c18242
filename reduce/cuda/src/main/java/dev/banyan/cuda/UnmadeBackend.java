package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.CallerContext;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.internal.driver.Waiting;
import dev.banyan.cuda.internal.memory.CopyLane;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/**
 * Holds the resources of a backend whose creation failed. The driver waits for the work of a device before it frees
 * memory there, so a device that hangs would block the caller. The resources are kept until a {@link #sweep} finds the
 * devices idle.
 *
 * <p>Safe for use from any thread.
 */
final class UnmadeBackend {
    /** Backends that have not been freed. */
    private static final Set<UnmadeBackend> KEPT = new LinkedHashSet<>();

    private final List<CudaDevice> devices;
    private final List<CopyLane> lanes;
    private final @Nullable ProgramPieces pieces;
    private final LongSupplier clock;
    private final long timeoutNanos;

    private UnmadeBackend(
            List<CudaDevice> devices,
            List<CopyLane> lanes,
            @Nullable ProgramPieces pieces,
            LongSupplier clock,
            long timeoutNanos) {
        this.devices = devices;
        this.lanes = lanes;
        this.pieces = pieces;
        this.clock = clock;
        this.timeoutNanos = timeoutNanos;
    }

    /**
     * Frees a backend that could not be made, now or in a later sweep. It does nothing where a device has a fault.
     *
     * @param devices those that were opened
     * @param lanes those that were made
     * @param pieces memory for device programs, if it was made: contexts do not end mapped memory
     * @param clock the time, as {@link System#nanoTime()}
     * @param timeoutNanos how long the caller waits for the driver
     */
    static void abandon(
            List<CudaDevice> devices,
            List<CopyLane> lanes,
            @Nullable ProgramPieces pieces,
            LongSupplier clock,
            long timeoutNanos) {
        if (devices.isEmpty()) {
            return;
        }
        synchronized (KEPT) {
            KEPT.add(new UnmadeBackend(devices, lanes, pieces, clock, timeoutNanos));
        }
        sweep();
    }

    /** Frees the kept backends whose devices are idle. */
    static void sweep() {
        List<UnmadeBackend> idle = new ArrayList<>();
        synchronized (KEPT) {
            if (ProcessFault.isThere()) {
                return;
            }
            for (Iterator<UnmadeBackend> all = KEPT.iterator(); all.hasNext(); ) {
                UnmadeBackend backend = all.next();
                if (backend.isIdle()) {
                    all.remove();
                    idle.add(backend);
                }
            }
        }
        for (UnmadeBackend backend : idle) {
            CompletableFuture<Void> freed = Freeing.begin(backend::free);
            Waiting.whileBusy(() -> !freed.isDone(), backend.clock, backend.timeoutNanos);
        }
    }

    /** Forgets all, for tests that play a new process. */
    static void forgetAll() {
        synchronized (KEPT) {
            KEPT.clear();
        }
    }

    private boolean isIdle() {
        return CallerContext.tryKeep(
                devices.getFirst(), kept -> !kept || lanes.stream().noneMatch(CopyLane::isBusy));
    }

    private void free() {
        if (devices.stream().allMatch(device -> device.fault() == CUresult.CUDA_SUCCESS)) {
            devices.getFirst().tryEnter();
            if (pieces != null) {
                pieces.free();
            }
            lanes.forEach(CopyLane::free);
            devices.forEach(CudaDevice::close);
        }
    }
}
