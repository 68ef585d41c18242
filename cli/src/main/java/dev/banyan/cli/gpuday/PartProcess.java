package dev.banyan.cli.gpuday;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Runs a part as a process of its own, and ends it at its deadline: a call of the driver that hangs ends in no other
 * way.
 */
final class PartProcess {
    /** For the system to end a process that was killed. A process that waits in the kernel may outlive that. */
    private static final int KILL_SECONDS = 10;

    private PartProcess() {}

    /**
     * How a process ended.
     *
     * @param status its exit status, or null if it was ended at its deadline
     * @param seconds how long it ran
     * @param gone false if it was killed and is there nevertheless
     */
    record Ending(@Nullable Integer status, double seconds, boolean gone) {}

    /**
     * Runs a command.
     *
     * @param out file for its standard output; a pipe would keep this process waiting for one that can't be killed
     * @param err file for its standard error
     * @throws UncheckedIOException if it can't be started; the message is one sentence
     */
    static Ending run(List<String> command, Path out, Path err, Duration deadline) {
        long begun = System.nanoTime();
        Process process;
        try {
            process = new ProcessBuilder(command)
                    .redirectInput(
                            ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile())
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException("can't start " + command.getFirst() + " (" + e.getMessage() + ")", e);
        }
        // Whoever ends this process ends the part too.
        Thread killer = new Thread(() -> kill(process));
        Runtime.getRuntime().addShutdownHook(killer);
        boolean gone = true;
        boolean inTime = false;
        try {
            inTime = process.waitFor(deadline.toNanos(), TimeUnit.NANOSECONDS);
            if (!inTime) {
                kill(process);
                gone = process.waitFor(KILL_SECONDS, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            kill(process);
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a part ran", e);
        } finally {
            forget(killer);
        }
        return new Ending(inTime ? process.exitValue() : null, (System.nanoTime() - begun) / 1e9, gone);
    }

    private static void forget(Thread killer) {
        try {
            Runtime.getRuntime().removeShutdownHook(killer);
        } catch (IllegalStateException e) {
            // The JVM is ending: the hook does what it is for.
            return;
        }
    }

    /** Kills a process and what it started: compute-sanitizer starts what it watches. */
    private static void kill(Process process) {
        try (Stream<ProcessHandle> children = process.descendants()) {
            children.toList().forEach(ProcessHandle::destroyForcibly);
        }
        process.destroyForcibly();
    }
}
