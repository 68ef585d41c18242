package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.internal.driver.CaptureMode;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.backend.Executable;
import java.util.List;
import java.util.Objects;
import jcuda.driver.CUevent;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** A launch whose end is waited for. {@link Runs} calls all methods under its lock. */
public abstract class Run {
    private final List<CudaDevice> devices;
    private final List<CUevent> ended;
    private @Nullable Completion completion;
    private long number;

    /**
     * @param devices of the events
     * @param ended to be recorded behind it on each device, or on one for all
     */
    public Run(List<CudaDevice> devices, List<CUevent> ended) {
        this.devices = devices;
        this.ended = ended;
    }

    /**
     * Begins to be waited for.
     *
     * @param place its number among all runs, from 1 on
     * @param learning learns of the end
     */
    final void begin(long place, Completion learning) {
        number = place;
        completion = learning;
    }

    /** Returns its number among all runs, from 1 on. */
    final long number() {
        return number;
    }

    /** Returns what is to learn of the end. */
    final Completion completion() {
        return Objects.requireNonNull(completion);
    }

    /** Returns whether it is a launch of an executable, alone or with others. */
    protected abstract boolean isOf(Executable executable);

    /** Returns the name of the collective and the algorithm, for messages. */
    protected abstract String name();

    /** Returns the events behind it: one for all devices, or one for each. */
    public final List<CUevent> ended() {
        return ended;
    }

    /** Returns the event behind it on a device. */
    public final CUevent ended(CudaDevice device) {
        return ended.size() == 1 ? ended.getFirst() : ended.get(devices.indexOf(device));
    }

    /**
     * Returns CUDA_SUCCESS if it has ended and all of it was done, CUDA_ERROR_NOT_READY if it has not ended, or an
     * error.
     */
    protected abstract int result();

    /**
     * Returns whether its kernels themselves report that all is done, so that the driver needs not be asked whether
     * something went wrong before.
     */
    protected boolean reportsItsEnd() {
        return false;
    }

    /** Returns what is not done, if possible on a device. */
    protected abstract Unfinished firstUnfinished(@Nullable CudaDevice wanted);

    /** Returns the first device whose event has not been reached, but the wanted one if there is one. */
    protected final CudaDevice firstNotReached(@Nullable CudaDevice wanted) {
        if (wanted != null) {
            return wanted;
        }
        for (int d = 0; d < ended.size(); d++) {
            if (JCudaDriver.cuEventQuery(ended.get(d)) != CUresult.CUDA_SUCCESS) {
                return devices.get(d);
            }
        }
        return devices.getFirst();
    }

    /** Asks it to end early if it can, and returns whether it may still do so. */
    protected boolean stop() {
        return false;
    }

    /** Returns why it ended early by itself or by {@link #stop}, or null. */
    @Nullable
    protected RuntimeException stopped() {
        return null;
    }

    /** Returns CUDA_SUCCESS if its events have been reached, CUDA_ERROR_NOT_READY if not, or an error. */
    protected final int reached() {
        for (CUevent event : ended) {
            int result = JCudaDriver.cuEventQuery(event);
            if (result != CUresult.CUDA_SUCCESS) {
                return CaptureMode.isRefusal(result) ? CUresult.CUDA_ERROR_NOT_READY : result;
            }
        }
        return CUresult.CUDA_SUCCESS;
    }

    /** Gives back what only a run needs that has not ended; this object may become a later run. */
    protected abstract void recycle();

    /** A step that is not done. */
    public record Unfinished(CudaDevice device, String step) {
        /** Says that it failed in a collective of a name. */
        public String failing(String name) {
            return name + " failed on device " + device.ordinal() + " in " + step;
        }
    }
}
