package dev.banyan.cuda.internal.driver;

import dev.banyan.cuda.type.CudaException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Remembers that a device of this process has failed. The driver then refuses all work of that device until the process
 * ends; work of other devices that waited for it may never end, and whoever frees memory there waits for it. So nothing
 * is freed after a fault, and no further backend is made.
 *
 * <p>Safe for use from any thread.
 */
public final class ProcessFault {
    /** The end of all messages about a fault. */
    public static final String REMEDY = "end this process and start a new one";

    private static final AtomicReference<@Nullable String> FAULT = new AtomicReference<>();

    private ProcessFault() {}

    /** Notes a fault; the first one counts. */
    public static void note(String fault) {
        FAULT.compareAndSet(null, fault);
    }

    public static boolean isThere() {
        return FAULT.get() != null;
    }

    /** @throws CudaException if there is a fault */
    public static void check() {
        String fault = FAULT.get();
        if (fault != null) {
            throw new CudaException("CUDA cannot be used again in this process, as " + fault + "; " + REMEDY);
        }
    }

    /** Forgets the fault, for tests that play a new process. */
    public static void forget() {
        FAULT.set(null);
    }
}
