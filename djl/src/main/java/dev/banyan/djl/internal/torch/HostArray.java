package dev.banyan.djl.internal.torch;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The elements of an array in host memory: the array's own memory if it is accessible, otherwise a copy, which
 * {@link #writeBack} writes to the array. The first copy is logged. Not safe for use from several threads.
 *
 * @param memory native memory that any thread may access while the array is open
 * @param copy whether the memory is a copy
 */
public record HostArray(NDArray array, MemorySegment memory, boolean copy) {
    private static final Logger LOG = LoggerFactory.getLogger(HostArray.class);
    private static final AtomicBoolean COPIED = new AtomicBoolean();

    /** @throws IllegalArgumentException if Banyan has no such type of elements */
    public static HostArray of(NDArray array) {
        long bytes = array.size() * type(array).bytes();
        MemorySegment own = TorchMemory.of(array, bytes);
        if (own != null) {
            return new HostArray(array, own, false);
        }
        if (COPIED.compareAndSet(false, true)) {
            LOG.info(
                    "array {} of shape {} on {} is copied for each exchange, as its memory can't be used where it lies",
                    array.getName(),
                    array.getShape(),
                    array.getDevice());
        }
        MemorySegment copied = Arena.ofAuto().allocate(bytes, Long.BYTES);
        copied.copyFrom(MemorySegment.ofBuffer(array.toByteBuffer()));
        return new HostArray(array, copied, true);
    }

    /** Returns Banyan's type of the elements of an array. */
    public static DataType type(NDArray array) {
        return switch (array.getDataType()) {
            case FLOAT32 -> DataType.F32;
            case FLOAT64 -> DataType.F64;
            case FLOAT16 -> DataType.F16;
            case BFLOAT16 -> DataType.BF16;
            case INT8 -> DataType.I8;
            case UINT8, BOOLEAN -> DataType.U8;
            case INT32 -> DataType.I32;
            case INT64 -> DataType.I64;
            default ->
                throw new IllegalArgumentException("array " + array.getName() + " has elements of "
                        + array.getDataType() + ", which can't be exchanged; train parameters of FLOAT32");
        };
    }

    /** Writes a copy to the array; does nothing if the memory is the array's own. */
    public void writeBack() {
        if (copy) {
            ByteBuffer bytes = memory.asByteBuffer().order(ByteOrder.nativeOrder());
            Shape shape = array.getShape().isScalar() ? new Shape(1) : array.getShape();
            // NDArray.copyTo would make the array share the buffer's memory, which a gradient outlives. While gradients
            // are collected, an array that requires a gradient can be changed only through a view.
            try (NDArray changed = array.getManager().create(bytes, shape, array.getDataType());
                    NDArray view = array.stopGradient();
                    NDArray rows = view.reshape(shape)) {
                rows.set(new NDIndex("..."), changed);
            }
        }
    }
}
