package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import jcuda.driver.CUresult;

/** Checks the result of every call of the driver. */
public final class Cuda {
    private Cuda() {}

    /**
     * @param result what the driver's function gave
     * @param what what was tried and where, e.g. {@code cuMemAlloc of 16 bytes on device 2}
     * @throws CudaException if that is an error
     */
    public static void check(int result, String what) {
        if (result != CUresult.CUDA_SUCCESS) {
            throw new CudaException(what + " failed: " + name(result));
        }
    }

    /**
     * Does the same for calls that must be fast: a message is made of its parts for an error alone.
     *
     * @param function of the driver
     * @param what what was tried, e.g. {@code  behind ring}; empty if the function says it
     */
    public static void check(int result, String function, String what, CudaDevice device) {
        if (result != CUresult.CUDA_SUCCESS) {
            check(result, function + what + " on device " + device.ordinal());
        }
    }

    /** Name of an error, e.g. {@code CUDA_ERROR_OUT_OF_MEMORY}. */
    public static String name(int result) {
        return CUresult.stringFor(result);
    }
}
