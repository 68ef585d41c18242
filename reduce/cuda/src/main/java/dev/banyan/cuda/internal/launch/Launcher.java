package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.CudaDevice;
import java.util.List;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;

/** Streams of a backend in which runs are launched. Used under the lock of the queue. */
public interface Launcher {
    /** Returns the stream in which the work of a device begins. */
    CUstream stream(CudaDevice device);

    /** Lets what is launched from now on wait for events. */
    void waitFor(List<CUevent> ended);

    /** Returns whether a stream is not known to have come to its end. */
    boolean isBusy();

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    List<Integer> free();
}
