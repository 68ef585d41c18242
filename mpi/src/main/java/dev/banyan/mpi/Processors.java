package dev.banyan.mpi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/**
 * The processors that a process may run on.
 *
 * @param number as the JVM counts them, which knows of quotas, too
 * @param mask the same number in processes that may run on the same processors
 */
record Processors(int number, long mask) {
    private static final Path STATUS = Path.of("/proc/self/status");

    static Processors ofThisProcess() {
        try (Stream<String> lines = Files.lines(STATUS)) {
            String allowed = lines.filter(line -> line.startsWith("Cpus_allowed:"))
                    .findFirst()
                    .orElse("");
            return new Processors(Runtime.getRuntime().availableProcessors(), allowed.hashCode());
        } catch (IOException e) {
            throw new UncheckedIOException(STATUS + " can't be read (" + e.getMessage() + ")", e);
        }
    }

    /**
     * Returns whether processes leave none of these for a second thread of one of them.
     *
     * @param areShared whether all processes of the machine have these processors; else they are this process's alone
     * @param processes those of the machine
     */
    boolean areTaken(boolean areShared, int processes) {
        return number <= (areShared ? processes : 1);
    }
}
