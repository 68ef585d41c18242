package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * Memory that processes of one user share. It has no name: its maker tells the others its process id and the number of
 * its descriptor, by which the kernel lets processes of the same user open it. So it ends with the last process that
 * has it open, however that process ends, and no other user can open it. Its length never changes.
 *
 * <p>A process maps what another one names only if the kernel says that both are of one user, and that the name is of
 * memory which that user made here, of the expected length. Anything else is refused, and nothing is written to it.
 *
 * <p>Safe for use from any thread; {@link #close} while nobody uses the memory.
 */
public final class SharedMemory implements AutoCloseable {
    /** All names begin so. */
    private static final String PREFIX = "banyan-";

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
     * @param name begins with {@code banyan-}, for people who look at the process's files
     * @param bytes its length, at least 1
     */
    public static SharedMemory create(String name, long bytes) {
        if (!name.startsWith(PREFIX)) {
            throw new IllegalArgumentException(name + " names shared memory; begin it with " + PREFIX);
        }
        int descriptor = LinuxCalls.newMemory(name);
        SharedMemory made;
        try {
            made = new SharedMemory(descriptor, Path.of("/proc/self/fd/" + descriptor), bytes);
        } catch (IOException e) {
            LinuxCalls.close(descriptor);
            throw new UncheckedIOException("cannot map " + bytes + " bytes of shared memory", e);
        } catch (RuntimeException | Error e) {
            LinuxCalls.close(descriptor);
            throw e;
        }
        try {
            LinuxCalls.sealLength(descriptor);
        } catch (Throwable e) {
            made.close();
            throw e;
        }
        return made;
    }

    /**
     * Opens memory of another process.
     *
     * @param owner the process
     * @param descriptor number of its descriptor there
     * @param bytes its length
     * @throws IllegalStateException if the process has ended, belongs to another user or does not let this one open its
     *     memory, or if the descriptor is of anything but such memory
     */
    public static SharedMemory open(ProcessId owner, int descriptor, long bytes) {
        try (PinnedFile process = PinnedFile.of(Path.of("/proc/" + owner.pid()))) {
            checkUser(owner, process.path());
            Path link = process.path().resolve("fd/" + descriptor);
            // Throws if the process has closed it, or this one may not open it.
            Path _ = Files.readSymbolicLink(link);
            try (PinnedFile named = PinnedFile.of(link)) {
                return open(owner, named, bytes);
            }
        } catch (NoSuchFileException e) {
            throw new IllegalStateException(
                    owner + (owner.isAlive() ? " has closed its memory" : " has ended")
                            + "; start all processes of the job anew",
                    e);
        } catch (IOException e) {
            throw refused(owner, e);
        }
    }

    /** Returns why the memory of a living process cannot be opened. The kernel's rules are those of ptrace(2). */
    private static RuntimeException refused(ProcessId owner, IOException e) {
        if (!owner.isAlive()) {
            return ended(owner, e);
        }
        if (!(e instanceof AccessDeniedException)) {
            return new UncheckedIOException("cannot map the memory of " + owner + ": " + e.getMessage(), e);
        }
        String refusal = "the memory of " + owner + " cannot be opened, as ";
        try {
            ProcessStatus that = ProcessStatus.of(Path.of("/proc/" + owner.pid()));
            ProcessStatus own = ProcessStatus.own();
            if (that.isEnding()) {
                return ended(owner, e);
            }
            int group = own.group();
            if (that.groups().stream().anyMatch(each -> each != group)) {
                return new IllegalStateException(
                        refusal + "it belongs to groups " + that.groups() + " and this process to group " + group
                                + "; run all processes of a job with one group",
                        e);
            }
            if ((that.permittedCapabilities() & ~own.capabilities()) != 0) {
                return new IllegalStateException(
                        refusal
                                + "it has capabilities that this process lacks; give all processes of a job the same"
                                + " ones",
                        e);
            }
            return new IllegalStateException(
                    refusal + "the kernel or a security module (SELinux, AppArmor) forbids it to this process; let"
                            + " processes of one job read each other's /proc/PID/fd",
                    e);
        } catch (IOException gone) {
            gone.addSuppressed(e);
            return ended(owner, gone);
        }
    }

    private static IllegalStateException ended(ProcessId owner, IOException e) {
        return new IllegalStateException(owner + " has ended; start all processes of the job anew", e);
    }

    private static void checkUser(ProcessId owner, Path process) throws IOException {
        int own = ProcessStatus.own().user();
        List<Integer> users = ProcessStatus.of(process).users();
        if (users.stream().anyMatch(user -> user != own)) {
            throw new IllegalStateException(owner + " belongs to user " + Files.getOwner(process) + " (numbers " + users
                    + "), and this process to user number " + own + "; run all processes of a job as one user");
        }
        if (!owner.isIn(process)) {
            throw new NoSuchFileException(process.toString());
        }
    }

    private static SharedMemory open(ProcessId owner, PinnedFile named, long bytes) throws IOException {
        String target = Files.readSymbolicLink(named.path()).toString();
        if (!target.startsWith("/memfd:" + PREFIX)
                || named.user() != ProcessStatus.own().user()) {
            throw wrong(owner, target + " of user " + Files.getOwner(named.path()));
        }
        long length = Files.size(named.path());
        if (length != bytes) {
            throw new IllegalStateException(owner + " shares " + length + " bytes where this process expects " + bytes
                    + "; start all processes of the job with the same version and the same BANYAN_WORLD_SIZE");
        }
        int opened = LinuxCalls.open(named.path().toString());
        if (opened < 0) {
            throw PinnedFile.failure(-opened, named.path());
        }
        try {
            if (!LinuxCalls.hasSealedLength(opened)) {
                throw wrong(owner, "memory whose length may change");
            }
            return new SharedMemory(-1, named.path(), bytes);
        } finally {
            LinuxCalls.close(opened);
        }
    }

    private static IllegalStateException wrong(ProcessId owner, String what) {
        return new IllegalStateException(owner + " names " + what + " as shared memory of a job, which this library did"
                + " not make; start all processes of the job with the same version");
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
