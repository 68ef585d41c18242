package dev.banyan.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/**
 * Segments of device memory. They belong to a thread that has ended, so that whoever reads or writes one gets a
 * WrongThreadException instead of a crash of the JVM.
 */
final class DeviceSpace {
    private static final MemorySegment ALL = ofNobody();

    private DeviceSpace() {}

    static MemorySegment segment(long address, long bytes) {
        return ALL.asSlice(address, bytes);
    }

    private static MemorySegment ofNobody() {
        CompletableFuture<MemorySegment> made = new CompletableFuture<>();
        Thread.ofPlatform().daemon().name("banyan-device-space").start(new Owner(made));
        return made.join();
    }

    /** A class of its own: the thread must not wait for this one, which waits for the thread. */
    private record Owner(CompletableFuture<MemorySegment> made) implements Runnable {
        @Override
        @SuppressWarnings("restricted")
        public void run() {
            made.complete(MemorySegment.NULL.reinterpret(Long.MAX_VALUE, Arena.ofConfined(), null));
        }
    }
}
