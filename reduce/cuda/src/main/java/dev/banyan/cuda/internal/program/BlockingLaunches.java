package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.type.CudaException;
import org.jspecify.annotations.Nullable;

/** Launches that return when their kernels have ended. */
public final class BlockingLaunches {
    static final String REMEDY = "unset CUDA_LAUNCH_BLOCKING and use no tool that makes launches wait, or set"
            + " BANYAN_CUDA_EXECUTOR=graph";

    private BlockingLaunches() {}

    /**
     * Checks that kernels of several devices can run at once.
     *
     * @param variable the value of CUDA_LAUNCH_BLOCKING in the environment; null if it is not set
     * @param devices of this process
     * @throws CudaException if launches block
     */
    public static void refuse(@Nullable String variable, int devices) {
        if (devices > 1
                && variable != null
                && !variable.isBlank()
                && !variable.strip().equals("0")) {
            throw new CudaException("CUDA_LAUNCH_BLOCKING=" + variable
                    + " lets each launch wait for its kernel, and kernels of several devices wait for each other; "
                    + REMEDY);
        }
    }
}
