package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.Run;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import jcuda.driver.CUevent;
import org.jspecify.annotations.Nullable;

/** A launch of kernels that work on elements, which cannot be ended early. */
final class ElementRun extends Run {
    private final ElementRuns runs;

    /** @param ended to be recorded behind it on each device */
    ElementRun(ElementRuns runs, List<CudaDevice> devices, List<CUevent> ended) {
        super(devices, ended);
        this.runs = runs;
    }

    @Override
    protected boolean isOf(Executable executable) {
        return false;
    }

    @Override
    protected String name() {
        return runs.name();
    }

    @Override
    protected int result() {
        return reached();
    }

    @Override
    protected Unfinished firstUnfinished(@Nullable CudaDevice wanted) {
        return new Unfinished(firstNotReached(wanted), "the kernels of " + name());
    }

    @Override
    protected void recycle() {
        runs.recycle(this);
    }
}
