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

    private final CaptureMode captureMode = CaptureMode.relax();

    private CallerContext() {}

    /** @throws CudaException if the driver refuses that */
    static CallerContext keep(CudaDevice device) {
        Cuda.check(push(device), "cuCtxPushCurrent", "", device);
        return new CallerContext();
    }

    /** Does the same, or nothing where the driver refuses it: for what must not fail. */
    static @Nullable CallerContext tryKeep(CudaDevice device) {
        return push(device) == CUresult.CUDA_SUCCESS ? new CallerContext() : null;
    }

    private static int push(CudaDevice device) {
        return JCudaDriver.cuCtxPushCurrent(device.context());
    }

    @Override
    public void close() {
        captureMode.restore();
        JCudaDriver.cuCtxPopCurrent(POPPED);
    }
}
