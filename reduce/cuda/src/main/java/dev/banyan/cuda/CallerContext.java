package dev.banyan.cuda;

import jcuda.driver.CUcontext;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what a caller's thread has made current: a context is pushed, which {@link CudaDevice#enter} replaces, and is
 * popped in the end. Meanwhile the thread's calls do not disturb captures of graphs, by {@link CaptureMode}. Every
 * method that users call has one around its calls of the driver.
 */
final class CallerContext implements AutoCloseable {
    /** Nobody reads what was popped. */
    private static final CUcontext POPPED = new CUcontext();

    /** One for each thread, so that nothing is allocated where one is kept. */
    private static final ThreadLocal<CallerContext> OF_THREAD = ThreadLocal.withInitial(CallerContext::new);

    private final CaptureMode captureMode = new CaptureMode();
    /** How many of this thread are open. */
    private int open;

    private CallerContext() {}

    /** @throws CudaException if the driver refuses that */
    static CallerContext keep(CudaDevice device) {
        Cuda.check(push(device), "cuCtxPushCurrent", "", device);
        return opened();
    }

    /** Does the same, or nothing where the driver refuses it: for what must not fail. */
    static @Nullable CallerContext tryKeep(CudaDevice device) {
        return push(device) == CUresult.CUDA_SUCCESS ? opened() : null;
    }

    private static int push(CudaDevice device) {
        return JCudaDriver.cuCtxPushCurrent(device.context());
    }

    private static CallerContext opened() {
        CallerContext context = OF_THREAD.get();
        if (context.open == 0) {
            context.captureMode.relax();
        }
        context.open++;
        return context;
    }

    @Override
    public void close() {
        open--;
        if (open == 0) {
            captureMode.restore();
        }
        JCudaDriver.cuCtxPopCurrent(POPPED);
    }
}
