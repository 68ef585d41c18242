package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * A process of this machine, for all time: a later process may get the same number, but not the same start.
 *
 * @param pid its number
 * @param start when it started, in the kernel's ticks
 */
public record ProcessId(long pid, long start) {
    /** The place of the start in the kernel's description, behind the name in parentheses. */
    private static final int START = 19;
    /** Enough for a thousand years. */
    private static final int START_BITS = 42;

    /** Returns this process. */
    public static ProcessId own() {
        long pid = ProcessHandle.current().pid();
        try {
            return new ProcessId(pid, startOf(Path.of("/proc/self")));
        } catch (IOException e) {
            throw new UncheckedIOException("ranks in several processes need Linux with /proc", e);
        }
    }

    /** Returns the process of a number that {@link #packed} gave. */
    static ProcessId unpacked(long packed) {
        return new ProcessId(packed >>> START_BITS, packed & (1L << START_BITS) - 1);
    }

    /** Returns it as one number other than 0: the kernel's process numbers have 22 bits. */
    long packed() {
        return pid << START_BITS | start;
    }

    /** Returns whether it has not ended. */
    public boolean isAlive() {
        try {
            return startOf(Path.of("/proc/" + pid)) == start;
        } catch (NoSuchFileException e) {
            return false;
        } catch (IOException e) {
            // That one is just ending, or this process has no descriptor left, which a later look shows.
            return Files.exists(Path.of("/proc/" + pid));
        }
    }

    /** Returns whether the kernel's folder of a process is that of this one, and the process has not ended. */
    boolean isIn(Path process) throws IOException {
        return startOf(process) == start;
    }

    /** Returns when a process started, or -1 if it has ended and its parent has not noticed yet. */
    private static long startOf(Path process) throws IOException {
        String description = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
        String[] fields =
                description.substring(description.lastIndexOf(')') + 2).split(" ", -1);
        boolean ended = fields[0].equals("Z") || fields[0].equals("X");
        return ended ? -1 : Long.parseLong(fields[START]);
    }

    @Override
    public String toString() {
        return "process " + pid;
    }
}
