package dev.banyan.cuda;

import dev.banyan.cuda.internal.driver.ProcessFault;
import dev.banyan.reduce.internal.Completions;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The backends of this process whose memory is not freed. A call that frees memory waits for all work on its device, so
 * a closed backend is kept until nothing is busy there.
 *
 * <p>Safe for use from any thread.
 */
final class LivingBackends {
    private static final Logger LOG = LoggerFactory.getLogger(LivingBackends.class);

    private static final Set<CudaBackend> LIVING = new LinkedHashSet<>();

    private LivingBackends() {}

    static void add(CudaBackend backend) {
        synchronized (LIVING) {
            LIVING.add(backend);
        }
    }

    /** Leaves a backend to the end of the process. */
    static void forget(CudaBackend backend) {
        synchronized (LIVING) {
            LIVING.remove(backend);
        }
    }

    /**
     * Returns whether a call that frees memory on a backend's devices would wait for work of this backend or of
     * another.
     */
    static boolean keepBusy(CudaBackend backend) {
        synchronized (LIVING) {
            return LIVING.stream().anyMatch(other -> backend.sharesDeviceWith(other) && other.isBusy());
        }
    }

    /** Returns whether other backends, whose work ends or times out soon, keep a backend's devices busy. */
    private static boolean soundOnesKeepBusy(CudaBackend backend) {
        synchronized (LIVING) {
            return LIVING.stream()
                    .anyMatch(other -> !other.equals(backend)
                            && other.failure() == null
                            && backend.sharesDeviceWith(other)
                            && other.isBusy());
        }
    }

    /** Frees a closed backend when its devices are idle, or leaves it to a later call if that is not soon. */
    static void freeInTime(CudaBackend backend) {
        backend.waitWhile(() -> soundOnesKeepBusy(backend));
        freeClosed();
        synchronized (LIVING) {
            if (ProcessFault.isThere()) {
                LIVING.remove(backend);
                LOG.warn("memory of a backend is left to the end of the process, since a device has failed");
            }
            if (LIVING.contains(backend)) {
                LOG.warn("memory of a backend is kept until work that did not end in time has ended");
            }
        }
    }

    /** Frees the closed backends on whose devices nothing is busy. */
    static void freeClosed() {
        UnmadeBackend.sweep();
        List<CudaBackend> idle;
        synchronized (LIVING) {
            if (ProcessFault.isThere()) {
                return;
            }
            idle = LIVING.stream()
                    .filter(backend -> backend.isClosed() && !keepBusy(backend))
                    .toList();
            idle.forEach(LIVING::remove);
        }
        for (CudaBackend backend : idle) {
            CompletableFuture<Void> freed = Freeing.begin(backend::free);
            backend.waitWhile(() -> !freed.isDone());
            if (freed.isDone()) {
                Completions.join(freed);
            } else {
                LOG.warn("the driver has not freed the memory of a backend yet; it waits for other work of this"
                        + " process");
            }
        }
    }

    /** Plays a process in which no backend was made yet. */
    static void forgetAll() {
        Freeing.join();
        UnmadeBackend.forgetAll();
        synchronized (LIVING) {
            LIVING.clear();
        }
    }
}
