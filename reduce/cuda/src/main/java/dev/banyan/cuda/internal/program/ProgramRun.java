package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.HostBlock;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.cuda.internal.ptx.ProgramStatus;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import java.util.function.LongSupplier;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/** A launch of device programs: one kernel on each device. */
final class ProgramRun extends Run {
    /** Kernels that are asked to end do so within microseconds, unless their device hangs. */
    private static final long GRACE_NANOS = 500_000_000;

    private final ProgramLauncher launcher;
    private final LongSupplier clock;
    private List<ProgramBatch.Member> members = List.of();
    private long lastBase;
    private List<HostBlock> batches = List.of();
    private long stopBefore;
    private boolean isStopping;
    private boolean reportsItsEnd;

    /**
     * @param ended to be recorded behind it on each device
     * @param clock the time, as {@link System#nanoTime()}
     */
    ProgramRun(ProgramLauncher launcher, List<CudaDevice> devices, List<CUevent> ended, LongSupplier clock) {
        super(devices, ended);
        this.launcher = launcher;
        this.clock = clock;
    }

    /**
     * Becomes a new launch.
     *
     * @param calls what it carries out
     * @param base of the flags of the last call
     * @param read what kernels read, of each device; none for one call
     */
    void begin(List<ProgramBatch.Member> calls, long base, List<HostBlock> read) {
        members = calls;
        lastBase = base;
        batches = read;
        isStopping = false;
        reportsItsEnd = true;
        for (int d = 0; d < ended().size(); d++) {
            reportsItsEnd &= ProgramBatch.blocks(calls, d) > 0;
        }
    }

    @Override
    protected boolean isOf(Executable executable) {
        for (ProgramBatch.Member member : members) {
            if (member.executable().equals(executable)) {
                return true;
            }
        }
        return false;
    }

    @Override
    protected String name() {
        return members.getFirst().plan().name()
                + (members.size() == 1 ? "" : " and " + (members.size() - 1) + " calls behind it");
    }

    private ProgramExecutable first() {
        return members.getFirst().executable();
    }

    /** {@inheritDoc} A device without blocks reports nothing; its event says that its stream has come to the call. */
    @Override
    protected boolean reportsItsEnd() {
        return reportsItsEnd;
    }

    @Override
    protected int result() {
        if (isDone()) {
            return reportsItsEnd ? CUresult.CUDA_SUCCESS : reached();
        }
        if (launcher.isStopping()) {
            stop();
        }
        if (!isStopping) {
            return CUresult.CUDA_ERROR_NOT_READY;
        }
        int reached = reached();
        if (reached != CUresult.CUDA_SUCCESS) {
            return reached;
        }
        return isDone() ? CUresult.CUDA_SUCCESS : CUresult.CUDA_ERROR_LAUNCH_TIMEOUT;
    }

    private boolean isDone() {
        for (int d = 0; d < ended().size(); d++) {
            if (!isDone(d)) {
                return false;
            }
        }
        return true;
    }

    private boolean isDone(int d) {
        return launcher.isDone(d, lastBase) || ProgramBatch.blocks(members, d) == 0;
    }

    @Override
    protected boolean stop() {
        if (!isStopping) {
            isStopping = true;
            stopBefore = clock.getAsLong() + GRACE_NANOS;
            launcher.stop();
        }
        return clock.getAsLong() - stopBefore < 0;
    }

    @Override
    @Nullable
    protected RuntimeException stopped() {
        if (!isStopping) {
            return null;
        }
        String waiting = "";
        for (int d = 0; d < ended().size(); d++) {
            CudaDevice device = members.getFirst().plan().parts().get(d).device();
            int blocks = ProgramBatch.blocks(members, d);
            for (int block = 0; block < blocks; block++) {
                ProgramStatus status = launcher.status(d, block);
                if (status.code() == ProgramStatus.Code.TIMEOUT
                        || (waiting.isEmpty() && status.code() == ProgramStatus.Code.ABORTED)) {
                    waiting = ": device " + device.ordinal() + " waited in block " + block + " for " + describe(status);
                }
                if (status.code() == ProgramStatus.Code.TIMEOUT) {
                    return late(waiting);
                }
            }
        }
        return members.stream().anyMatch(member -> member.executable().isAborted())
                ? new CollectiveTimeoutException(name() + " was aborted" + waiting)
                : late(waiting);
    }

    /** Names what a block waited for; the value shows which call it was in. */
    private String describe(ProgramStatus status) {
        int member = members.size() - 1;
        for (long base = lastBase; member > 0 && status.wanted() < base; member--) {
            base -= members.get(member - 1).plan().values();
        }
        return members.get(member).plan().describe(status);
    }

    private CollectiveTimeoutException late(String waiting) {
        return new CollectiveTimeoutException(name() + " did not end within " + first().timeoutMillis() + " ms"
                + waiting + "; create a new communicator, or allow more time by BANYAN_TIMEOUT_MS");
    }

    @Override
    protected Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        CudaDevice first = null;
        for (int d = 0; d < ended().size(); d++) {
            CudaDevice device = members.getFirst().plan().parts().get(d).device();
            if (device.equals(wanted)) {
                first = device;
            } else if (first == null && !isDone(d)) {
                first = device;
            }
        }
        return new Unfinished(
                first == null ? members.getFirst().plan().parts().getFirst().device() : first,
                "the kernel of " + name());
    }

    @Override
    protected void recycle() {
        for (int b = 0; b < batches.size(); b++) {
            launcher.recycle(batches.get(b));
        }
        members = List.of();
        batches = List.of();
        launcher.recycle(this);
    }
}
