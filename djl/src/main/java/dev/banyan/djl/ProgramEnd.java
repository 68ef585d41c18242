package dev.banyan.djl;

import dev.banyan.mpi.World;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Finishes the world for a program that knows nothing of it: when its last thread that isn't a daemon has ended, or it
 * ends by {@link System#exit}, and no thread threw. A program that fails leaves the world unfinished, so that mpirun
 * ends the other processes; one that fails by another status than 0 makes mpirun do so anyway.
 */
final class ProgramEnd {
    /** How long a process that exits waits for the others, the first of which may still save a model. */
    private static final Duration PATIENCE = Duration.ofSeconds(30);

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

    /** A thread that keeps the JVM running; the one that waits for them to end it is none. */
    private static Optional<Thread> other() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> !thread.isDaemon()
                        && !thread.equals(Thread.currentThread())
                        && !thread.getName().equals("DestroyJavaVM"))
                .findAny();
    }
}
