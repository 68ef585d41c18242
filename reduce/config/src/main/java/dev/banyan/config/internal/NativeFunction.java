package dev.banyan.config.internal;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * A function of a native library that returns an int. Safe for use from any thread.
 *
 * @param symbol its name in the library
 * @param handle takes the address of the function and an array of its arguments
 */
public record NativeFunction(String symbol, MethodHandle handle) {
    /** Returns the function of a symbol, by the layouts of its arguments. */
    @SuppressWarnings("restricted")
    public static NativeFunction of(String symbol, MemoryLayout... arguments) {
        return new NativeFunction(
                symbol,
                Linker.nativeLinker()
                        .downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments))
                        .asSpreader(Object[].class, arguments.length));
    }

    /**
     * Calls the function at an address.
     *
     * @param arguments the arguments of the C function: segments, ints and longs
     * @return the code that it returns
     */
    public int invoke(MemorySegment address, Object... arguments) {
        try {
            return (int) handle.invokeExact(address, arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("native functions throw no checked exceptions", e);
        }
    }
}
