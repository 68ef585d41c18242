package dev.banyan.djl;

import dev.banyan.mpi.World;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Finishes the world for a program that knows nothing of it: when its last thread that isn't a daemon has ended and none
 * threw. A program that fails, or that ends by {@link System#exit}, leaves the world unfinished, so that mpirun ends
 * the other processes.
 */
final class ProgramEnd {
    private ProgramEnd() {}

    static void finish(World world) {
        AtomicBoolean failed = new AtomicBoolean();
        Thread.UncaughtExceptionHandler told = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            failed.set(true);
            if (told == null) {
                System.err.print("Exception in thread \"" + thread.getName() + "\" ");
                failure.printStackTrace();
            } else {
                told.uncaughtException(thread, failure);
            }
        });
        Thread.ofPlatform().daemon(false).name("banyan-djl-end").start(() -> {
            if (othersEnded() && !failed.get()) {
                world.finish();
            }
        });
    }

    private static boolean othersEnded() {
        try {
            for (Optional<Thread> other = other(); other.isPresent(); other = other()) {
                other.get().join();
            }
            return true;
        } catch (InterruptedException e) {
            return false;
        }
    }

    /** A thread that keeps the JVM running; the one that waits for them to end it is none. */
    private static Optional<Thread> other() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !thread.isDaemon()
                        && !thread.equals(Thread.currentThread())
                        && !thread.getName().equals("DestroyJavaVM"))
                .findAny();
    }
}
