package dev.banyan.djl;

import dev.banyan.reduce.CallQueue;
import dev.banyan.reduce.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Means of single numbers over the processes. */
final class GlobalValue {
    private GlobalValue() {}

    /** The mean of what all processes give; all call it. */
    static float mean(float own, Processes processes) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment number = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, own);
            CallQueue.join(processes.average(number, 1, DataType.F64));
            return (float) number.get(ValueLayout.JAVA_DOUBLE, 0);
        }
    }
}
