package dev.banyan.cuda;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** A launch of a device program: one kernel on each device. */
final class ProgramRun extends Run {
    /** Kernels that are told to end do so within microseconds, unless their device hangs. */
    private static final long GRACE_NANOS = 500_000_000;

    private final ProgramExecutable executable;
    private final ProgramLauncher launcher;
    private final long base;
    private final List<CUevent> ended;
    private long stopBefore;
    private boolean isStopping;

    /**
     * @param base of its flags
     * @param ended an event behind it on each device
     */
    ProgramRun(ProgramExecutable executable, ProgramLauncher launcher, long base, List<CUevent> ended) {
        this.executable = executable;
        this.launcher = launcher;
        this.base = base;
        this.ended = ended;
    }

    @Override
    ProgramExecutable executable() {
        return executable;
    }

    @Override
    String name() {
        return executable.plan().name();
    }

    @Override
    List<CUevent> ended() {
        return ended;
    }

    /** Returns the event behind it on a device. */
    CUevent ended(CudaDevice device) {
        return ended.get(launcher.indexOf(device));
    }

    @Override
    int result() {
        boolean done = isDone();
        if (!done && launcher.isStopping()) {
            stop();
        }
        if (!done && !isStopping) {
            return CUresult.CUDA_ERROR_NOT_READY;
        }
        for (CUevent event : ended) {
            int result = JCudaDriver.cuEventQuery(event);
            if (result != CUresult.CUDA_SUCCESS) {
                return CaptureMode.isRefusal(result) ? CUresult.CUDA_ERROR_NOT_READY : result;
            }
        }
        return isDone() ? CUresult.CUDA_SUCCESS : CUresult.CUDA_ERROR_LAUNCH_TIMEOUT;
    }

    private boolean isDone() {
        for (int d = 0; d < ended.size(); d++) {
            if (!launcher.isDone(executable.plan(), d, base)) {
                return false;
            }
        }
        return true;
    }

    @Override
    long lastNanos() {
        return executable.lastNanos();
    }

    @Override
    void took(long nanos) {
        executable.took(nanos);
    }

    @Override
    boolean stop() {
        if (!isStopping) {
            isStopping = true;
            stopBefore = System.nanoTime() + GRACE_NANOS;
            launcher.stop();
        }
        return System.nanoTime() < stopBefore;
    }

    @Override
    @Nullable
    RuntimeException stopped() {
        if (!isStopping) {
            return null;
        }
        ProgramPlan plan = executable.plan();
        String waiting = "";
        for (int d = 0; d < plan.parts().size(); d++) {
            for (int block = 0; block < plan.parts().get(d).blocks(); block++) {
                ProgramStatus status = launcher.status(d, block);
                if (status.code() == ProgramStatus.Code.TIMEOUT
                        || (waiting.isEmpty() && status.code() == ProgramStatus.Code.ABORTED)) {
                    waiting = ": device " + plan.parts().get(d).device().ordinal() + " waited in block " + block
                            + " for " + plan.describe(status);
                }
                if (status.code() == ProgramStatus.Code.TIMEOUT) {
                    return late(waiting);
                }
            }
        }
        return executable.isAborted()
                ? new CollectiveTimeoutException(name() + " was aborted" + waiting)
                : late(waiting);
    }

    private CollectiveTimeoutException late(String waiting) {
        return new CollectiveTimeoutException(name() + " did not end within " + executable.timeoutMillis() + " ms"
                + waiting + "; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS");
    }

    @Override
    Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        ProgramPlan plan = executable.plan();
        CudaDevice first = null;
        for (int d = 0; d < plan.parts().size(); d++) {
            CudaDevice device = plan.parts().get(d).device();
            if (device.equals(wanted)) {
                first = device;
            } else if (first == null && !launcher.isDone(plan, d, base)) {
                first = device;
            }
        }
        return new Unfinished(first == null ? plan.parts().getFirst().device() : first, "the kernel of " + plan.name());
    }

    @Override
    void recycle() {
        for (int d = 0; d < ended.size(); d++) {
            launcher.recycle(d, ended.get(d));
        }
    }
}
