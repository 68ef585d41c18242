package dev.banyan.cuda;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/** A launch of device programs: one kernel on each device. */
final class ProgramRun extends Run {
    /** Kernels that are asked to end do so within microseconds, unless their device hangs. */
    private static final long GRACE_NANOS = 500_000_000;

    private final List<ProgramBatch.Member> members;
    private final long lastBase;
    private final ProgramLauncher launcher;
    private final List<CUevent> ended;
    private final List<HostBlock> batches;
    private long stopBefore;
    private boolean isStopping;

    /**
     * @param members the calls that it carries out
     * @param lastBase of the flags of the last call
     * @param ended an event behind it on each device
     * @param batches what kernels read, of each device; none for one call
     */
    ProgramRun(
            List<ProgramBatch.Member> members,
            long lastBase,
            ProgramLauncher launcher,
            List<CUevent> ended,
            List<HostBlock> batches) {
        this.members = members;
        this.lastBase = lastBase;
        this.launcher = launcher;
        this.ended = ended;
        this.batches = batches;
    }

    @Override
    boolean isOf(Executable executable) {
        for (ProgramBatch.Member member : members) {
            if (member.executable().equals(executable)) {
                return true;
            }
        }
        return false;
    }

    @Override
    String name() {
        return first().plan().name() + (members.size() == 1 ? "" : " and " + (members.size() - 1) + " calls behind it");
    }

    private ProgramExecutable first() {
        return members.getFirst().executable();
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
        int reached = reached();
        if (reached != CUresult.CUDA_SUCCESS) {
            return reached;
        }
        return isDone() ? CUresult.CUDA_SUCCESS : CUresult.CUDA_ERROR_LAUNCH_TIMEOUT;
    }

    private boolean isDone() {
        for (int d = 0; d < ended.size(); d++) {
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
    long lastNanos() {
        return members.size() == 1 ? first().lastNanos() : 0;
    }

    @Override
    void took(long nanos) {
        if (members.size() == 1) {
            first().took(nanos);
        }
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
        String waiting = "";
        for (int d = 0; d < ended.size(); d++) {
            CudaDevice device = first().plan().parts().get(d).device();
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
    Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        CudaDevice first = null;
        for (int d = 0; d < ended.size(); d++) {
            CudaDevice device = first().plan().parts().get(d).device();
            if (device.equals(wanted)) {
                first = device;
            } else if (first == null && !isDone(d)) {
                first = device;
            }
        }
        return new Unfinished(
                first == null ? first().plan().parts().getFirst().device() : first, "the kernel of " + name());
    }

    @Override
    void recycle() {
        for (int d = 0; d < ended.size(); d++) {
            launcher.recycle(d, ended.get(d));
        }
        batches.forEach(launcher::recycle);
    }
}
