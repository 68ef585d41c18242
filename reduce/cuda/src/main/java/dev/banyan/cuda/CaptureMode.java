package dev.banyan.cuda;

import jcuda.driver.CUresult;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;

/**
 * What the driver refuses to a thread while any thread of the process captures a stream into a graph. In the mode
 * that threads begin with, a refused call, such as a query of an event, also invalidates the capture, whoever's that
 * is. In the relaxed mode nothing is refused that has nothing to do with the captured stream.
 */
final class CaptureMode {
    private CaptureMode() {}

    /** Relaxes the mode of the calling thread, and returns the one before. */
    static int relax() {
        return exchange(CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED);
    }

    /** Gives the calling thread the mode that it had. */
    static void restore(int mode) {
        exchange(mode);
    }

    private static int exchange(int mode) {
        int[] exchanged = {mode};
        JCudaDriver.cuThreadExchangeStreamCaptureMode(exchanged);
        return exchanged[0];
    }

    /** Whether an error says that a stream is captured, and nothing about a device. */
    static boolean isRefusal(int result) {
        return result >= CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                && result <= CUresult.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
}
