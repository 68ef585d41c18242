package dev.banyan.cuda.internal.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import jcuda.driver.CUresult;

/** Rare calls of functions of the driver that JCuda lacks, or to which it passes other arguments than it is given. */
final class DriverCalls {
    private DriverCalls() {}

    /**
     * Calls a function.
     *
     * @param arguments numbers of 32 and 64 bits, and addresses
     * @return the driver's result; CUDA_ERROR_NOT_SUPPORTED where the driver is older than the function
     */
    @SuppressWarnings("restricted")
    static int call(String function, Object... arguments) {
        MemoryLayout[] layouts =
                Arrays.stream(arguments).map(DriverCalls::layout).toArray(MemoryLayout[]::new);
        var symbol =
                SymbolLookup.libraryLookup(CudaLibrary.DRIVER, Arena.global()).find(function);
        if (symbol.isEmpty()) {
            return CUresult.CUDA_ERROR_NOT_SUPPORTED;
        }
        try {
            return (int) Linker.nativeLinker()
                    .downcallHandle(symbol.get(), FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts))
                    .invokeWithArguments(arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(function + " throws nothing", e);
        }
    }

    private static MemoryLayout layout(Object argument) {
        return switch (argument) {
            case Integer _ -> ValueLayout.JAVA_INT;
            case Long _ -> ValueLayout.JAVA_LONG;
            case MemorySegment _ -> ValueLayout.ADDRESS;
            default -> throw new IllegalArgumentException("an argument " + argument + " of the driver");
        };
    }
}
