package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Memory that processes of one user share. It has no name: its maker tells the others its process id and the number of
 * its descriptor, by which the kernel lets processes of the same user open it. So it ends with the last process that
 * has it open, however that process ends, and no other user can open it.
 *
 * <p>Safe for use from any thread; {@link #close} while nobody uses the memory.
 */
public final class SharedMemory implements AutoCloseable {
    private final Arena arena = Arena.ofShared();
    private final int descriptor;
    private final MemorySegment memory;

    private SharedMemory(int descriptor, Path path, long bytes) throws IOException {
        this.descriptor = descriptor;
        // A channel of an interrupted thread closes.
        boolean interrupted = Thread.interrupted();
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes, arena);
        } catch (Throwable e) {
            arena.close();
            throw e;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Makes zeroed memory. The kernel finds room for a page when it is first touched.
     *
     * @param name for people who look at the process's files
     * @param bytes its length, at least 1
     */
    public static SharedMemory create(String name, long bytes) {
        int descriptor = LinuxCalls.newMemory(name);
        try {
            return new SharedMemory(descriptor, Path.of("/proc/self/fd/" + descriptor), bytes);
        } catch (IOException e) {
            LinuxCalls.close(descriptor);
            throw new UncheckedIOException("cannot map " + bytes + " bytes of shared memory", e);
        }
    }

    /**
     * Opens memory of another process.
     *
     * @param owner the process
     * @param descriptor number of its descriptor there
     * @param bytes its length
     * @throws IllegalStateException if the process has ended or does not let this one open its memory
     */
    public static SharedMemory open(ProcessId owner, int descriptor, long bytes) {
        Path path = Path.of("/proc/" + owner.pid() + "/fd/" + descriptor);
        try {
            return new SharedMemory(-1, path, bytes);
        } catch (NoSuchFileException e) {
            throw new IllegalStateException(
                    owner + (owner.isAlive() ? " has closed its memory" : " has ended")
                            + "; start all processes of the job anew",
                    e);
        } catch (AccessDeniedException e) {
            throw new IllegalStateException(
                    "the memory of " + owner + " cannot be opened; run all processes of a job as one user and in one"
                            + " PID namespace (containers: --pid=host)",
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot map the memory of " + owner, e);
        }
    }

    /** Returns the number of the descriptor of memory that this process has made. */
    public int descriptor() {
        return descriptor;
    }

    /** Returns the memory, in a scope that closes with it. */
    public MemorySegment memory() {
        return memory;
    }

    @Override
    public void close() {
        arena.close();
        if (descriptor >= 0) {
            LinuxCalls.close(descriptor);
        }
    }
}
