package dev.banyan.djl.internal.torch;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Finds the memory of PyTorch's arrays by the stable C interface of libtorch ({@code aoti_torch_*}). DJL holds a handle
 * per array, which is a pointer to an {@code at::Tensor}. Safe for use from any thread.
 */
public final class TorchMemory {
    /** Null if this libtorch lacks the interface or this class's loader does not find it. */
    private static final @Nullable TorchMemory FOUND = find();

    private final MethodHandle dataPointer;
    private final MethodHandle strides;

    private TorchMemory(MethodHandle dataPointer, MethodHandle strides) {
        this.dataPointer = dataPointer;
        this.strides = strides;
    }

    @SuppressWarnings("restricted")
    private static @Nullable TorchMemory find() {
        SymbolLookup symbols = SymbolLookup.loaderLookup();
        MemorySegment data = symbols.find("aoti_torch_get_data_ptr").orElse(null);
        MemorySegment strides = symbols.find("aoti_torch_get_strides").orElse(null);
        if (data == null || strides == null) {
            return null;
        }
        FunctionDescriptor getter = FunctionDescriptor.of(JAVA_INT, JAVA_LONG, ADDRESS);
        Linker linker = Linker.nativeLinker();
        return new TorchMemory(linker.downcallHandle(data, getter), linker.downcallHandle(strides, getter));
    }

    /**
     * Returns the elements of an array on the CPU, row by row. The memory is valid until the array is closed.
     *
     * @param bytes the length of the elements in bytes
     * @return null if the elements are not accessible or not consecutive
     */
    @SuppressWarnings("restricted")
    public static @Nullable MemorySegment of(NDArray array, long bytes) {
        OptionalLong address = array.getDevice().isGpu() ? OptionalLong.empty() : address(array);
        return address.isEmpty()
                ? null
                : MemorySegment.ofAddress(address.getAsLong()).reinterpret(bytes);
    }

    /**
     * Returns the address of the elements of an array in the memory of its device, row by row. It is valid until the
     * array is closed.
     *
     * @return empty if the elements are not accessible or not consecutive
     */
    public static OptionalLong address(NDArray array) {
        TorchMemory torch = FOUND;
        if (torch == null || !(array instanceof PtNDArray tensor) || array.isSparse()) {
            return OptionalLong.empty();
        }
        long handle = tensor.getHandle();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment result = arena.allocate(ADDRESS);
            return torch.isDense(handle, array.getShape(), result) && call(torch.dataPointer, handle, result)
                    ? OptionalLong.of(result.get(ADDRESS, 0).address())
                    : OptionalLong.empty();
        }
    }

    @SuppressWarnings("restricted")
    private boolean isDense(long handle, Shape shape, MemorySegment result) {
        if (!call(strides, handle, result)) {
            return false;
        }
        int dimensions = shape.dimension();
        MemorySegment steps = result.get(ADDRESS, 0).reinterpret((long) dimensions * Long.BYTES);
        long wanted = 1;
        for (int i = dimensions - 1; i >= 0; i--) {
            if (shape.get(i) != 1 && steps.getAtIndex(JAVA_LONG, i) != wanted) {
                return false;
            }
            wanted *= shape.get(i);
        }
        return true;
    }

    /** Calls a getter and returns whether it succeeded. */
    private static boolean call(MethodHandle getter, long handle, MemorySegment result) {
        try {
            return (int) getter.invokeExact(handle, result) == 0;
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new AssertionError("native functions throw no checked exceptions", e);
        }
    }
}
