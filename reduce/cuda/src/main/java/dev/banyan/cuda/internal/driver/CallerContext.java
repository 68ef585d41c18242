package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.Completions;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.function.Supplier;
import jcuda.driver.CUcontext;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what a caller's thread has made current: a context is pushed, which {@link CudaDevice#enter} replaces, and is
 * popped in the end. Meanwhile the thread's calls do not disturb captures of graphs, by {@link CaptureMode}. Every
 * method that users call makes its calls of the driver by this class.
 *
 * <p>The driver knows the threads of the system alone, and a virtual thread may leave its one at any wait. The calls of
 * a virtual thread therefore run on a platform thread of their own, for which it waits.
 */
public final class CallerContext {
    /** Nobody reads what was popped. */
    private static final CUcontext POPPED = new CUcontext();

    /** One for each thread, so that nothing is allocated where a context is kept. */
    private static final ThreadLocal<CallerContext> OF_THREAD = ThreadLocal.withInitial(CallerContext::new);

    private final CaptureMode captureMode = new CaptureMode();
    /** The number of contexts that this thread keeps. */
    private int open;

    private CallerContext() {}

    /**
     * Makes calls of the driver while a device's context is pushed.
     *
     * @throws CudaException if the driver refuses that
     */
    public static <T extends @Nullable Object> T keep(CudaDevice device, Supplier<T> calls) {
        return onPlatformThread(() -> {
            Cuda.check(push(device), "cuCtxPushCurrent", "", device);
            return kept(calls);
        });
    }

    /** Does the same for calls without a result. */
    public static void keep(CudaDevice device, Runnable calls) {
        var _ = keep(device, () -> {
            calls.run();
            return true;
        });
    }

    /**
     * Makes calls that must not fail.
     *
     * @param calls are told whether the driver has pushed the context; where it has not, nothing is kept
     */
    public static boolean tryKeep(CudaDevice device, Predicate<Boolean> calls) {
        return onPlatformThread(() -> {
            boolean pushed = push(device) == CUresult.CUDA_SUCCESS;
            return pushed ? kept(() -> calls.test(true)) : calls.test(false);
        });
    }

    /** Makes calls without a result, also where the driver does not push the context. */
    public static void tryKeep(CudaDevice device, Runnable calls) {
        var _ = tryKeep(device, pushed -> {
            calls.run();
            return pushed;
        });
    }

    private static int push(CudaDevice device) {
        return JCudaDriver.cuCtxPushCurrent(device.context());
    }

    private static <T extends @Nullable Object> T kept(Supplier<T> calls) {
        CallerContext context = OF_THREAD.get();
        if (context.open == 0) {
            context.captureMode.relax();
        }
        context.open++;
        try {
            return calls.get();
        } finally {
            context.open--;
            if (context.open == 0) {
                context.captureMode.restore();
            }
            JCudaDriver.cuCtxPopCurrent(POPPED);
        }
    }

    /** Waits uninterruptibly, as calls of the driver are no shorter for an interrupt. */
    private static <T extends @Nullable Object> T onPlatformThread(Supplier<T> calls) {
        if (!Thread.currentThread().isVirtual()) {
            return calls.get();
        }
        return Completions.join(CompletableFuture.supplyAsync(calls, DriverThreads.NEW));
    }
}
