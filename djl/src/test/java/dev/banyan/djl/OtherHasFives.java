package dev.banyan.djl;

import dev.banyan.schedule.type.DataType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Two processes, of which the other one has 5 for everything. Writes down what is averaged. */
final class OtherHasFives extends FirstOfTwo {
    private final List<Long> counts = new ArrayList<>();
    private final List<DataType> types = new ArrayList<>();

    List<Long> counts() {
        return counts;
    }

    List<DataType> types() {
        return types;
    }

    @Override
    public CompletableFuture<Void> average(MemorySegment buffer, long count, DataType type) {
        counts.add(count);
        types.add(type);
        for (long i = 0; i < count; i++) {
            switch (type) {
                case F32 ->
                    buffer.setAtIndex(
                            ValueLayout.JAVA_FLOAT, i, (buffer.getAtIndex(ValueLayout.JAVA_FLOAT, i) + 5) / 2);
                case F64 ->
                    buffer.setAtIndex(
                            ValueLayout.JAVA_DOUBLE, i, (buffer.getAtIndex(ValueLayout.JAVA_DOUBLE, i) + 5) / 2);
                default -> throw new AssertionError(type);
            }
        }
        return CompletableFuture.completedFuture(null);
    }
}
