package dev.banyan.cuda.internal.driver;

import jcuda.driver.CUresult;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;

/**
 * The calls that the driver refuses to a thread while any thread of the process captures a stream into a graph. In the
 * mode that threads begin with, a refused call, such as a query of an event, also invalidates the capture, whoever's
 * that is. In the relaxed mode nothing is refused that has nothing to do with the captured stream.
 */
public final class CaptureMode {
    /** The mode that the thread does not have: the relaxed one, or the one before. */
    private final int[] other = {CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED};

    /** Relaxes the mode of the calling thread for good. */
    public static void relaxThread() {
        new CaptureMode().relax();
    }

    /** Relaxes the mode of the calling thread. */
    void relax() {
        JCudaDriver.cuThreadExchangeStreamCaptureMode(other);
    }

    /** Gives the calling thread the mode that it had before {@link #relax}. */
    void restore() {
        JCudaDriver.cuThreadExchangeStreamCaptureMode(other);
    }

    /** Returns whether an error says that a stream is captured, and nothing about a device. */
    public static boolean isRefusal(int result) {
        return result >= CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                && result <= CUresult.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
}
