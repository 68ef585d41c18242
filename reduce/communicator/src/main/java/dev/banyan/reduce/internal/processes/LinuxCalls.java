package dev.banyan.reduce.internal.processes;

import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The calls of the Linux kernel that the Java library does not offer: memory without a name, and waiting for a word.
 */
final class LinuxCalls {
    private static final int CLOSE_ON_EXEC = 1;
    private static final int FUTEX_WAIT = 0;
    private static final int FUTEX_WAKE = 1;
    private static final long FUTEX = System.getProperty("os.arch").equals("aarch64") ? 98 : 202;

    private static final MethodHandle MEMFD_CREATE;
    private static final MethodHandle CLOSE;
    private static final MethodHandle SYSCALL;

    static {
        Linker linker = Linker.nativeLinker();
        ValueLayout.OfInt number = ValueLayout.JAVA_INT;
        ValueLayout.OfLong word = ValueLayout.JAVA_LONG;
        AddressLayout address = ValueLayout.ADDRESS;
        MEMFD_CREATE = find(linker, "memfd_create", FunctionDescriptor.of(number, address, number));
        CLOSE = find(linker, "close", FunctionDescriptor.of(number, number));
        SYSCALL = find(
                linker,
                "syscall",
                FunctionDescriptor.of(word, word, word, number, number, address),
                Linker.Option.firstVariadicArg(1));
    }

    private LinuxCalls() {}

    @SuppressWarnings("restricted")
    private static MethodHandle find(
            Linker linker, String name, FunctionDescriptor descriptor, Linker.Option... options) {
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
            int descriptor = (int) MEMFD_CREATE.invokeExact(arena.allocateFrom(name), CLOSE_ON_EXEC);
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

    static void close(int descriptor) {
        try {
            int _ = (int) CLOSE.invokeExact(descriptor);
        } catch (Throwable e) {
            throw new IllegalStateException("close throws nothing", e);
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
