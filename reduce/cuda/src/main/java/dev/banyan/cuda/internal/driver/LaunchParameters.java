package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * The parameters of a kernel, in native memory. While a call of the driver has an array of the Java heap, JCuda holds
 * up the serial and the parallel garbage collector. If the call waits for a kernel that another thread is about to
 * launch, and that thread needs the collector, neither goes on. JCuda also reads each parameter through several calls
 * of the JVM, some 15 us for the 38 of a device program; so this calls the driver itself. Used by one thread at a time.
 */
public final class LaunchParameters {
    private final MemorySegment words;
    private final MemorySegment pointers;

    /** @param arena bounds the time in which the kernel can be launched */
    public LaunchParameters(int count, Arena arena) {
        words = arena.allocate(ValueLayout.JAVA_LONG, count);
        pointers = arena.allocate(ValueLayout.JAVA_LONG, count);
        for (int i = 0; i < count; i++) {
            pointers.setAtIndex(ValueLayout.JAVA_LONG, i, words.address() + 8L * i);
        }
    }

    /** Sets a parameter; one of fewer than 64 bits is the lower part of the value. */
    public void set(int index, long value) {
        words.setAtIndex(ValueLayout.JAVA_LONG, index, value);
    }

    /** Sets a parameter of more bytes, in native memory that stays until the launch returns. */
    public void set(int index, MemorySegment bytes) {
        pointers.setAtIndex(ValueLayout.JAVA_LONG, index, bytes.address());
    }

    /** Launches a kernel of one dimension, and returns the driver's result. */
    public int launch(DriverFunction function, int blocks, int threads, DriverStream stream) {
        try {
            return (int) Symbols.LAUNCH.invokeExact(
                    function.handle(), blocks, 1, 1, threads, 1, 1, 0, stream.handle(), pointers, MemorySegment.NULL);
        } catch (Throwable e) {
            throw new IllegalStateException("cuLaunchKernel throws nothing", e);
        }
    }

    /** Found when something is launched, after the driver has been loaded. */
    private static final class Symbols {
        static final MethodHandle LAUNCH = launch();

        @SuppressWarnings("restricted")
        private static MethodHandle launch() {
            ValueLayout.OfInt number = ValueLayout.JAVA_INT;
            return Linker.nativeLinker()
                    .downcallHandle(
                            SymbolLookup.libraryLookup(CudaLibrary.DRIVER, Arena.global())
                                    .findOrThrow("cuLaunchKernel"),
                            FunctionDescriptor.of(
                                    number,
                                    ValueLayout.JAVA_LONG,
                                    number,
                                    number,
                                    number,
                                    number,
                                    number,
                                    number,
                                    number,
                                    ValueLayout.JAVA_LONG,
                                    ValueLayout.ADDRESS,
                                    ValueLayout.ADDRESS));
        }
    }
}
