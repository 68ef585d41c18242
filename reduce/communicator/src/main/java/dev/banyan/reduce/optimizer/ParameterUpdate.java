package dev.banyan.reduce.optimizer;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * One update of a value by its gradient, as data. Value, gradient and state are memory of one device and do not
 * overlap. An update leaves the gradient as it is.
 *
 * @param optimizer how the gradient changes the value
 * @param step the number of this update of the value, from 1
 * @param rank the rank of the device
 * @param type the type of the value and the gradient, a floating one
 * @param count their length in elements, at least 0
 * @param value at least {@code count} elements
 * @param gradient at least {@code count} elements
 * @param state at least {@link Optimizer#stateBytes} bytes, zero before the first update
 */
public record ParameterUpdate(
        Optimizer optimizer,
        long step,
        int rank,
        DataType type,
        long count,
        MemorySegment value,
        MemorySegment gradient,
        MemorySegment state) {
    /** @throws IllegalArgumentException if the type is no floating one, the step is below 1 or memory is too short */
    public ParameterUpdate {
        Objects.requireNonNull(optimizer, "optimizer");
        if (!type.isFloating()) {
            throw new IllegalArgumentException(
                    "an update of elements of " + type + "; optimizers update F32, F64, F16 and BF16");
        }
        if (step < 1 || count < 0) {
            throw new IllegalArgumentException(
                    "update " + step + " of " + count + " elements; give a step from 1 and a count of 0 or more");
        }
        check("value", value, count * type.bytes());
        check("gradient", gradient, count * type.bytes());
        check("state", state, optimizer.stateBytes(type, count));
    }

    private static void check(String what, MemorySegment memory, long bytes) {
        if (memory.byteSize() < bytes) {
            throw new IllegalArgumentException(
                    "an update whose " + what + " has " + memory.byteSize() + " bytes, but " + bytes + " are needed");
        }
    }
}
