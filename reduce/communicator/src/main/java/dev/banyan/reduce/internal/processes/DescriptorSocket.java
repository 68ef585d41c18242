package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A Unix socket by which other processes of this user give descriptors to this one (SCM_RIGHTS of unix(7)). It has no
 * name: the others reach it as {@code /proc/PID/fd/SOCKET}, as they reach this process's {@link SharedMemory}. Used by
 * one thread.
 */
final class DescriptorSocket implements AutoCloseable {
    private static final String NAME = "socket";

    private static final int UNIX = 1;
    private static final int DATAGRAMS = 2;
    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int DO_NOT_WAIT = 0x40;
    private static final int RECEIVED_CLOSE_ON_EXEC = 0x40000000;
    private static final int SOCKET_LEVEL = 1;
    private static final int RIGHTS = 1;
    /** Bytes of an address: the family and a path. */
    private static final int ADDRESS_BYTES = 110;
    /** Bytes of the header of control data: their length, the level and the type. */
    private static final int HEADER_BYTES = 16;

    private static final MethodHandle SOCKET;
    private static final MethodHandle BIND;
    private static final MethodHandle SEND;
    private static final MethodHandle RECEIVE;

    static {
        Linker linker = Linker.nativeLinker();
        ValueLayout.OfInt number = ValueLayout.JAVA_INT;
        var onMessages = FunctionDescriptor.of(ValueLayout.JAVA_LONG, number, ValueLayout.ADDRESS, number);
        SOCKET = LinuxCalls.find(linker, "socket", FunctionDescriptor.of(number, number, number, number));
        BIND = LinuxCalls.find(linker, "bind", FunctionDescriptor.of(number, number, ValueLayout.ADDRESS, number));
        SEND = LinuxCalls.find(linker, "sendmsg", onMessages);
        RECEIVE = LinuxCalls.find(linker, "recvmsg", onMessages);
    }

    private final int socket;
    private final PinnedFile pinned;

    /** @throws IOException if the folder of temporary files takes no socket, or the limit of open files is too low */
    DescriptorSocket() throws IOException {
        Path folder = newFolder();
        try (PinnedFile pinnedFolder = PinnedFile.ofFolder(folder)) {
            Path name = pinnedFolder.path().resolve(NAME);
            socket = newSocket();
            try {
                bind(socket, name);
                pinned = PinnedFile.of(name);
            } catch (Throwable e) {
                LinuxCalls.close(socket);
                throw e;
            }
        } finally {
            boolean _ = Files.deleteIfExists(folder.resolve(NAME));
            boolean _ = Files.deleteIfExists(folder);
        }
    }

    private static Path newFolder() throws IOException {
        try {
            return Files.createTempDirectory("banyan-descriptors-");
        } catch (IOException e) {
            throw new IOException(noSocket() + ": " + e, e);
        }
    }

    private static String noSocket() {
        return "the folder of temporary files, " + System.getProperty("java.io.tmpdir")
                + ", takes no Unix socket; name another one by -Djava.io.tmpdir";
    }

    private static int newSocket() throws IOException {
        try {
            int made = (int) SOCKET.invokeExact(UNIX, DATAGRAMS | CLOSE_ON_EXEC, 0);
            if (made < 0) {
                throw new IOException(
                        "the kernel gives this process no socket; raise the limit of open files (ulimit -n)");
            }
            return made;
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    private static void bind(int socket, Path name) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            int bound = (int) BIND.invokeExact(socket, address(arena, name), ADDRESS_BYTES);
            if (bound != 0) {
                throw new IOException(noSocket());
            }
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    private static RuntimeException thrown(Throwable e) throws IOException {
        switch (e) {
            case IOException io -> throw io;
            case RuntimeException runtime -> throw runtime;
            case Error error -> throw error;
            default -> throw new IllegalStateException("functions of sockets throw nothing", e);
        }
    }

    /** Returns the number of the descriptor by which others reach it. */
    int descriptor() {
        return pinned.descriptor();
    }

    private static MemorySegment address(SegmentAllocator allocator, Path path) {
        MemorySegment address = allocator.allocate(ADDRESS_BYTES, Short.BYTES);
        address.set(ValueLayout.JAVA_SHORT, 0, (short) UNIX);
        byte[] name = path.toString().getBytes(StandardCharsets.UTF_8);
        MemorySegment.copy(name, 0, address, ValueLayout.JAVA_BYTE, Short.BYTES, name.length);
        return address;
    }

    /**
     * Gives descriptors to another process, which gets copies of them.
     *
     * @param receiver the number of its {@link #descriptor}
     * @throws IOException if the kernel refuses that
     */
    void send(ProcessId process, int receiver, int[] descriptors) throws IOException {
        try (Arena arena = Arena.ofConfined();
                PinnedFile files = PinnedFile.of(Path.of("/proc/" + process.pid()))) {
            MemorySegment control = control(arena, descriptors.length);
            control.set(ValueLayout.JAVA_LONG, 0, HEADER_BYTES + (long) Integer.BYTES * descriptors.length);
            control.set(ValueLayout.JAVA_INT, 8, SOCKET_LEVEL);
            control.set(ValueLayout.JAVA_INT, 12, RIGHTS);
            MemorySegment.copy(descriptors, 0, control, ValueLayout.JAVA_INT, HEADER_BYTES, descriptors.length);
            MemorySegment message = message(arena, control);
            message.set(ValueLayout.ADDRESS, 0, address(arena, files.path().resolve("fd/" + receiver)));
            message.set(ValueLayout.JAVA_INT, 8, ADDRESS_BYTES);
            if (!process.isIn(files.path()) || (long) SEND.invokeExact(socket, message, DO_NOT_WAIT) < 0) {
                throw refused(process, null);
            }
        } catch (FileSystemException e) {
            throw refused(process, e);
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    private static IOException refused(ProcessId process, @Nullable IOException cause) {
        return new IOException(
                "the kernel passes no descriptors to " + process
                        + "; see whether it has ended, let processes of one job read each other's /proc/PID/fd, and"
                        + " raise the limit of open files (ulimit -n)",
                cause);
    }

    /**
     * Returns copies of the descriptors that another process has given, which end if this one executes a program.
     *
     * @param number how many
     * @throws IOException if there are others, or the limit of open files is too low
     */
    int[] receive(int number) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment control = control(arena, number);
            MemorySegment message = message(arena, control);
            long bytes = (long) RECEIVE.invokeExact(socket, message, DO_NOT_WAIT | RECEIVED_CLOSE_ON_EXEC);
            int got = bytes < 0 || message.get(ValueLayout.JAVA_LONG, 40) < HEADER_BYTES
                    ? 0
                    : (int) (control.get(ValueLayout.JAVA_LONG, 0) - HEADER_BYTES) / Integer.BYTES;
            int[] descriptors =
                    control.asSlice(HEADER_BYTES, (long) Integer.BYTES * got).toArray(ValueLayout.JAVA_INT);
            if (got != number) {
                LinuxCalls.close(descriptors);
                throw new IOException("the kernel passes " + got + " of " + number
                        + " descriptors of another process; see what that one reports, or raise the limit of open files"
                        + " (ulimit -n)");
            }
            return descriptors;
        } catch (Throwable e) {
            throw thrown(e);
        }
    }

    private static MemorySegment control(SegmentAllocator allocator, int descriptors) {
        return allocator.allocate(HEADER_BYTES + Math.ceilDiv(descriptors, 2) * (long) Long.BYTES, Long.BYTES);
    }

    /** Returns a msghdr with one byte: name, its length, pieces, their number, control data, their length, flags. */
    private static MemorySegment message(SegmentAllocator allocator, MemorySegment control) {
        MemorySegment piece = allocator.allocate(ValueLayout.JAVA_LONG, 2);
        piece.set(ValueLayout.ADDRESS, 0, allocator.allocate(1));
        piece.set(ValueLayout.JAVA_LONG, 8, 1);
        MemorySegment message = allocator.allocate(ValueLayout.JAVA_LONG, 7);
        message.set(ValueLayout.ADDRESS, 16, piece);
        message.set(ValueLayout.JAVA_LONG, 24, 1);
        message.set(ValueLayout.ADDRESS, 32, control);
        message.set(ValueLayout.JAVA_LONG, 40, control.byteSize());
        return message;
    }

    @Override
    public void close() {
        LinuxCalls.close(socket);
        pinned.close();
    }
}
