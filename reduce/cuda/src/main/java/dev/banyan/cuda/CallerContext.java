package dev.banyan.cuda;

import jcuda.driver.CUcontext;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what a caller's thread has made current: a context is pushed, which {@link CudaDevice#enter} replaces, and is
 * popped in the end. Every method that users call has one around its calls of the driver.
 */
final class CallerContext implements AutoCloseable {
    private static final CallerContext KEPT = new CallerContext();
    /** Nobody reads what was popped. */
    private static final CUcontext POPPED = new CUcontext();

    private CallerContext() {}

    /** @throws CudaException if the driver refuses that */
    static CallerContext keep(CudaDevice device) {
        Cuda.check(JCudaDriver.cuCtxPushCurrent(device.context()), "cuCtxPushCurrent to device " + device.ordinal());
        return KEPT;
    }

    /** Does the same, or nothing where the driver refuses it: for what must not fail. */
    static @Nullable CallerContext tryKeep(CudaDevice device) {
        return JCudaDriver.cuCtxPushCurrent(device.context()) == CUresult.CUDA_SUCCESS ? KEPT : null;
    }

    @Override
    public void close() {
        JCudaDriver.cuCtxPopCurrent(POPPED);
    }
}
