package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import jcuda.driver.CUevent;
import org.jspecify.annotations.Nullable;

/** A launch of updates, which cannot be ended early. */
final class UpdateRun extends Run {
    private final UpdateLauncher launcher;

    /** @param ended to be recorded behind it on each device */
    UpdateRun(UpdateLauncher launcher, List<CudaDevice> devices, List<CUevent> ended) {
        super(devices, ended);
        this.launcher = launcher;
    }

    @Override
    protected boolean isOf(Executable executable) {
        return false;
    }

    @Override
    protected String name() {
        return "an update of values";
    }

    @Override
    protected int result() {
        return reached();
    }

    @Override
    protected long lastNanos() {
        return launcher.lastNanos();
    }

    @Override
    protected void took(long nanos) {
        launcher.took(nanos);
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
