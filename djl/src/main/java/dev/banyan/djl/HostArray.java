package dev.banyan.djl;

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
 * The elements of an array in the host's memory: those of the array itself where they can be reached, else a copy,
 * which
 * {@link #writeBack} brings back. The first copy is logged. Not safe for use from several threads.
 */
final class HostArray {
    private static final Logger LOG = LoggerFactory.getLogger(HostArray.class);
    private static final AtomicBoolean COPIED = new AtomicBoolean();

    private final NDArray array;
    private final MemorySegment memory;
    private final boolean copy;

    private HostArray(NDArray array, MemorySegment memory, boolean copy) {
        this.array = array;
        this.memory = memory;
        this.copy = copy;
    }

    /** @throws IllegalArgumentException if Banyan has no such type of elements */
    static HostArray of(NDArray array) {
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

    /** Banyan's name of an array's type of elements. */
    static DataType type(NDArray array) {
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

    /** Native memory that all threads may use, as long as the array is open. */
    MemorySegment memory() {
        return memory;
    }

    /** Makes the array what its memory is; nothing is to be done where that is the array's own. */
    void writeBack() {
        if (copy) {
            ByteBuffer bytes = memory.asByteBuffer().order(ByteOrder.nativeOrder());
            Shape shape = array.getShape().isScalar() ? new Shape(1) : array.getShape();
            // In place. NDArray.copyTo would let the array lie in the buffer, which a gradient outlives; and of what
            // requires a gradient only a view may be changed while gradients are collected.
            try (NDArray changed = array.getManager().create(bytes, shape, array.getDataType());
                    NDArray view = array.stopGradient();
                    NDArray rows = view.reshape(shape)) {
                rows.set(new NDIndex("..."), changed);
            }
        }
    }
}
