package dev.banyan.reduce.internal.processes;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.Charset;

/**
 * The calls of the Linux kernel that the Java library does not offer: memory without a name, descriptors that keep what
 * a path names, folders with a mark, and waiting for a word.
 */
final class LinuxCalls {
    private static final boolean ARM = System.getProperty("os.arch").equals("aarch64");

    private static final int MEMORY_CLOSE_ON_EXEC = 1;
    private static final int MEMORY_MAY_BE_SEALED = 2;
    private static final int ADD_SEALS = 1033;
    private static final int GET_SEALS = 1034;
    /** The length is fixed, and so are the seals. */
    private static final int LENGTH_SEALS = 1 | 2 | 4;

    private static final int READ_AND_WRITE = 2;
    private static final int CLOSE_ON_EXEC = 0x80000;
    /** Such a descriptor names a file without opening it. */
    private static final int NAME_ONLY = 0x200000;

    private static final int FOLDER_ONLY = ARM ? 0x4000 : 0x10000;
    private static final int NO_LINK = ARM ? 0x8000 : 0x20000;

    /** The Java library names files in this encoding. */
    private static final Charset FILE_NAMES = Charset.forName(System.getProperty("sun.jnu.encoding"));

    private static final int FUTEX_WAIT = 0;
    private static final int FUTEX_WAKE = 1;
    private static final long FUTEX = ARM ? 98 : 202;

    private static final MemoryLayout CALL_STATE = Linker.Option.captureStateLayout();
    private static final long ERROR = CALL_STATE.byteOffset(MemoryLayout.PathElement.groupElement("errno"));

    private static final MethodHandle MEMFD_CREATE;
    private static final MethodHandle OPEN;
    private static final MethodHandle FCNTL;
    private static final MethodHandle MKDIR;
    private static final MethodHandle CLOSE;
    private static final MethodHandle SYSCALL;

    static {
        Linker linker = Linker.nativeLinker();
        ValueLayout.OfInt number = ValueLayout.JAVA_INT;
        ValueLayout.OfLong word = ValueLayout.JAVA_LONG;
        AddressLayout address = ValueLayout.ADDRESS;
        MEMFD_CREATE = find(linker, "memfd_create", FunctionDescriptor.of(number, address, number));
        OPEN = find(
                linker,
                "open",
                FunctionDescriptor.of(number, address, number),
                Linker.Option.firstVariadicArg(2),
                Linker.Option.captureCallState("errno"));
        FCNTL = find(
                linker,
                "fcntl",
                FunctionDescriptor.of(number, number, number, number),
                Linker.Option.firstVariadicArg(2));
        MKDIR = find(linker, "mkdir", FunctionDescriptor.of(number, address, number));
        CLOSE = find(linker, "close", FunctionDescriptor.of(number, number));
        SYSCALL = find(
                linker,
                "syscall",
                FunctionDescriptor.of(word, word, word, number, number, address),
                Linker.Option.firstVariadicArg(1));
    }

    private LinuxCalls() {}

    @SuppressWarnings("restricted")
    static MethodHandle find(Linker linker, String name, FunctionDescriptor descriptor, Linker.Option... options) {
        return linker.downcallHandle(
                linker.defaultLookup()
                        .find(name)
                        .orElseThrow(() -> new UnsupportedOperationException(
                                "ranks in several processes need Linux; this system has no " + name)),
                descriptor,
                options);
    }

    /** Returns the descriptor of new memory that has no name and ends with the last process that has it open. */
    static int newMemory(String name) {
        try (Arena arena = Arena.ofConfined()) {
            int descriptor = (int)
                    MEMFD_CREATE.invokeExact(arena.allocateFrom(name), MEMORY_CLOSE_ON_EXEC | MEMORY_MAY_BE_SEALED);
            if (descriptor < 0) {
                throw new IllegalStateException("the kernel gives no shared memory; raise the limit of open files");
            }
            return descriptor;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("memfd_create throws nothing", e);
        }
    }

    /** Fixes the length of memory for all processes. */
    static void sealLength(int descriptor) {
        if (fcntl(descriptor, ADD_SEALS, LENGTH_SEALS) < 0) {
            throw new IllegalStateException(
                    "the kernel does not fix the length of shared memory; use Linux 3.17 or newer");
        }
    }

    /** Returns whether a descriptor is of memory whose length is fixed. */
    static boolean hasSealedLength(int descriptor) {
        int seals = fcntl(descriptor, GET_SEALS, 0);
        return seals >= 0 && (seals & LENGTH_SEALS) == LENGTH_SEALS;
    }

    private static int fcntl(int descriptor, int operation, int argument) {
        try {
            return (int) FCNTL.invokeExact(descriptor, operation, argument);
        } catch (Throwable e) {
            throw new IllegalStateException("fcntl throws nothing", e);
        }
    }

    /** Returns a descriptor of a file, which it does not open, or the negative number of an error. */
    static int name(String path) {
        return open(path, NAME_ONLY | CLOSE_ON_EXEC);
    }

    /** Returns a descriptor of a folder that is not behind a link, or the negative number of an error. */
    static int nameFolder(String path) {
        return open(path, NAME_ONLY | FOLDER_ONLY | NO_LINK | CLOSE_ON_EXEC);
    }

    /** Opens a file for reading and writing, and returns its descriptor or the negative number of an error. */
    static int open(String path) {
        return open(path, READ_AND_WRITE | CLOSE_ON_EXEC);
    }

    private static int open(String path, int flags) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment state = arena.allocate(CALL_STATE);
            int descriptor = (int) OPEN.invokeExact(state, name(arena, path), flags);
            return descriptor >= 0 ? descriptor : -state.get(ValueLayout.JAVA_INT, ERROR);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("open throws nothing", e);
        }
    }

    private static MemorySegment name(Arena arena, String path) {
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, (path + "\0").getBytes(FILE_NAMES));
    }

    /** Makes a folder unless there is something at the path; returns whether it did. */
    static boolean makeFolder(String path, int mode) {
        try (Arena arena = Arena.ofConfined()) {
            return (int) MKDIR.invokeExact(name(arena, path), mode) == 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException("mkdir throws nothing", e);
        }
    }

    static void close(int descriptor) {
        try {
            int _ = (int) CLOSE.invokeExact(descriptor);
        } catch (Throwable e) {
            throw new IllegalStateException("close throws nothing", e);
        }
    }

    static void close(int[] descriptors) {
        for (int descriptor : descriptors) {
            close(descriptor);
        }
    }

    /**
     * Waits until another process wakes the waiters of a word, unless the word has another value already.
     *
     * @param address of the word, in shared memory
     * @param timeout a timespec
     */
    static void await(long address, int value, MemorySegment timeout) {
        futex(address, FUTEX_WAIT, value, timeout);
    }

    /** Wakes all that wait for a word. */
    static void wakeAll(long address) {
        futex(address, FUTEX_WAKE, Integer.MAX_VALUE, MemorySegment.NULL);
    }

    private static void futex(long address, int operation, int value, MemorySegment timeout) {
        try {
            long _ = (long) SYSCALL.invokeExact(FUTEX, address, operation, value, timeout);
        } catch (Throwable e) {
            throw new IllegalStateException("futex throws nothing", e);
        }
    }
}
