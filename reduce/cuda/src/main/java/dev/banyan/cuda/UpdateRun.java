package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.CudaDevice;
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
    boolean isOf(Executable executable) {
        return false;
    }

    @Override
    String name() {
        return "an update of values";
    }

    @Override
    int result() {
        return reached();
    }

    @Override
    long lastNanos() {
        return launcher.lastNanos();
    }

    @Override
    void took(long nanos) {
        launcher.took(nanos);
    }

    @Override
    Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        return new Unfinished(firstNotReached(wanted), "the kernels of " + name());
    }

    @Override
    void recycle() {
        launcher.recycle(this);
    }
}
