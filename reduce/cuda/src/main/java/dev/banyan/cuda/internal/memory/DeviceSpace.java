package dev.banyan.cuda.internal.memory;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Segments of device memory. They belong to a thread that has ended, so that whoever reads or writes one gets a
 * WrongThreadException instead of a crash of the JVM.
 *
 * <p>Safe for use from any thread.
 */
public final class DeviceSpace {
    private static final DeviceSpace SPACE = new DeviceSpace(
            task -> Thread.ofPlatform().daemon().name("banyan-device-space").start(task));

    private final Executor threads;
    /** All of the space; null until the first segment. A start of the thread that failed is tried again. */
    private volatile @Nullable MemorySegment all;

    /** @param threads runs a task on a new thread */
    DeviceSpace(Executor threads) {
        this.threads = threads;
    }

    public static MemorySegment segment(long address, long bytes) {
        return SPACE.slice(address, bytes);
    }

    MemorySegment slice(long address, long bytes) {
        MemorySegment made = all;
        if (made == null) {
            made = ofNobody();
            all = made;
        }
        return made.asSlice(address, bytes);
    }

    @SuppressWarnings("restricted")
    private MemorySegment ofNobody() {
        CompletableFuture<MemorySegment> made = new CompletableFuture<>();
        threads.execute(() -> {
            @SuppressWarnings("MustBeClosedChecker") // It has nothing to free.
            Arena own = Arena.ofConfined();
            made.complete(MemorySegment.NULL.reinterpret(Long.MAX_VALUE, own, null));
        });
        return made.join();
    }
}
