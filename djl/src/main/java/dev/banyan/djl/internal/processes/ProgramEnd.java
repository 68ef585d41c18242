package dev.banyan.djl.internal.processes;

import dev.banyan.mpi.World;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Finishes the world for a program that does not know it, when its last non-daemon thread has ended or it calls
 * {@link System#exit}, unless a thread has thrown. A program that fails leaves the world unfinished, so that mpirun
 * ends the other processes. mpirun also does so if the exit status is not 0.
 */
final class ProgramEnd {
    /** The time for which a process that exits waits for the others; the first may still be saving a model. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private ProgramEnd() {}

    static void finish(World world) {
        AtomicBoolean failed = new AtomicBoolean();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> {
            failed.set(true);
            if (before == null) {
                System.err.print("Exception in thread \"" + thread.getName() + "\" ");
                failure.printStackTrace();
            } else {
                before.uncaughtException(thread, failure);
            }
        });
        world.finishAtExit(() -> !failed.get(), PATIENCE);
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

    /** Returns a thread that keeps the JVM running, other than this one and the JVM's own that waits for all to end. */
    private static Optional<Thread> other() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !thread.isDaemon()
                        && !thread.equals(Thread.currentThread())
                        && !thread.getName().equals("DestroyJavaVM"))
                .findAny();
    }
}
