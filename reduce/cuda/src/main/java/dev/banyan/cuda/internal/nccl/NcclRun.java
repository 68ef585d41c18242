package dev.banyan.cuda.internal.nccl;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import java.util.Objects;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/** A launch of a collective of NCCL. */
final class NcclRun extends Run {
    /** Kernels that are asked to end do so within microseconds, unless their device hangs; NCCL frees memory too. */
    private static final long GRACE_NANOS = 2_000_000_000;
    /** NCCL is asked for errors no more often than this while a collective runs. */
    private static final long ASKED_NANOS = 1_000_000;

    private final NcclLauncher launcher;
    private final long timeoutMillis;
    private @Nullable NcclExecutable executable;
    private @Nullable String error;
    private boolean isStopping;
    private long stopBefore;
    private long asked;

    /** @param ended to be recorded behind it on each device */
    NcclRun(NcclLauncher launcher, List<CudaDevice> devices, List<CUevent> ended, long timeoutNanos) {
        super(devices, ended);
        this.launcher = launcher;
        timeoutMillis = Math.ceilDiv(timeoutNanos, 1_000_000);
    }

    /** Becomes a new launch. */
    void begin(NcclExecutable launched) {
        executable = launched;
        error = null;
        isStopping = false;
        asked = System.nanoTime();
    }

    private NcclExecutable executable() {
        return Objects.requireNonNull(executable);
    }

    @Override
    protected boolean isOf(Executable other) {
        return other.equals(executable);
    }

    @Override
    protected String name() {
        return executable().name();
    }

    @Override
    protected int result() {
        int reached = reached();
        if (!isStopping && (reached == CUresult.CUDA_SUCCESS || isTimeToAsk())) {
            error = launcher.asyncError();
            if (error != null) {
                stop();
            }
        }
        if (isStopping) {
            boolean over = reached != CUresult.CUDA_ERROR_NOT_READY || System.nanoTime() - stopBefore >= 0;
            return over ? CUresult.CUDA_ERROR_LAUNCH_TIMEOUT : CUresult.CUDA_ERROR_NOT_READY;
        }
        return reached;
    }

    private boolean isTimeToAsk() {
        long now = System.nanoTime();
        boolean isTime = now - asked >= ASKED_NANOS;
        if (isTime) {
            asked = now;
        }
        return isTime;
    }

    @Override
    protected boolean stop() {
        if (!isStopping) {
            isStopping = true;
            stopBefore = System.nanoTime() + GRACE_NANOS;
            launcher.abort();
        }
        return System.nanoTime() - stopBefore < 0;
    }

    @Override
    @Nullable
    protected RuntimeException stopped() {
        if (!isStopping) {
            return null;
        }
        if (error != null) {
            return new CudaException(name() + " failed: " + error + "; create a new communicator");
        }
        return executable().isAborted()
                ? new CollectiveTimeoutException(name() + " was aborted")
                : new CollectiveTimeoutException(name() + " did not end within " + timeoutMillis
                        + " ms; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS");
    }

    @Override
    protected Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        return new Unfinished(firstNotReached(wanted), "the kernels of " + name());
    }

    @Override
    protected void recycle() {
        launcher.recycle(this);
    }
}
