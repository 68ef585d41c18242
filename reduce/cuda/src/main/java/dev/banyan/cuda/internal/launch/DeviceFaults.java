package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.Set;
import java.util.function.Function;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/**
 * The faults of the devices of a backend, and what failures report of them. {@link #isKnown} is called under the lock
 * of {@link Runs}; the other methods are safe for use from any thread.
 */
final class DeviceFaults {
    private static final long ASKED_NANOS = 1_000_000;

    /** A device and its error. */
    private record Faulty(CudaDevice device, int error) {}

    private final Set<CudaDevice> devices;
    /** The time when the devices were last asked for faults, by {@link System#nanoTime()}. */
    private long asked = System.nanoTime();

    DeviceFaults(Set<CudaDevice> devices) {
        this.devices = devices;
    }

    /** Returns whether a device has a fault. */
    boolean areThere() {
        return faulty() != null;
    }

    /**
     * Returns whether a device is known to have a fault.
     *
     * @param now whether they are asked even if they were a short while ago
     */
    boolean isKnown(boolean now) {
        long time = System.nanoTime();
        if (!now && time - asked < ASKED_NANOS) {
            return false;
        }
        asked = time;
        for (CudaDevice device : devices) {
            if (device.isFaulty()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns what to report for an error of the driver: the fault of a device if there is one.
     *
     * @param failing says what failed on a faulty device; null for the message of the error
     */
    CudaException explain(CudaException error, @Nullable Function<CudaDevice, String> failing) {
        Faulty faulty = faulty();
        if (faulty == null) {
            return error;
        }
        return fault(
                faulty,
                failing == null
                        ? String.valueOf(error.getMessage())
                        : failing.apply(faulty.device()) + ": " + Cuda.name(faulty.error()));
    }

    private @Nullable Faulty faulty() {
        for (CudaDevice device : devices) {
            int fault = device.fault();
            if (fault != CUresult.CUDA_SUCCESS) {
                return new Faulty(device, fault);
            }
        }
        return null;
    }

    /** Makes a fault known to the process if there is one. */
    void note() {
        Faulty faulty = faulty();
        if (faulty != null) {
            note(faulty);
        }
    }

    private static void note(Faulty faulty) {
        ProcessFault.note("device " + faulty.device().ordinal() + " failed with " + Cuda.name(faulty.error()));
    }

    /** A fault of a device, after which the process must end. */
    private static CudaException fault(Faulty faulty, String what) {
        note(faulty);
        return new CudaException(what + "; " + ProcessFault.REMEDY + ", without that device if it is lost");
    }

    /** Returns that a run has not ended in time. */
    CollectiveTimeoutException late(Run run, long timeoutNanos) {
        Run.Unfinished step = run.firstUnfinished(null);
        return new CollectiveTimeoutException(run.name() + " did not end within "
                + Math.ceilDiv(timeoutNanos, 1_000_000) + " ms: device "
                + step.device().ordinal() + " has not done " + step.step()
                + "; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS");
    }

    /** Returns why a run failed: the fault of a device if there is one, else the driver's result. */
    CudaException failed(Run run, int result) {
        Faulty faulty = faulty();
        if (faulty != null) {
            return fault(faulty, failing(run, faulty.device()) + ": " + Cuda.name(faulty.error()));
        }
        return new CudaException(failing(run, null) + ": " + Cuda.name(result) + "; create a new communicator");
    }

    private static String failing(Run run, @Nullable CudaDevice wanted) {
        return run.firstUnfinished(wanted).failing(run.name());
    }
}
