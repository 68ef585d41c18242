package dev.banyan.djl;

import dev.banyan.reduce.CallQueue;
import dev.banyan.reduce.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Single values that are made of those of all processes. */
final class GlobalValue {
    private GlobalValue() {}

    /** The mean of what all processes give; all call it. */
    static float mean(float own, Processes processes) {
        PhaseEvent event = PhaseEvent.begin("mean of a metric");
        try (Arena arena = Arena.ofShared()) {
            MemorySegment number = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, own);
            CallQueue.join(processes.average(number, 1, DataType.F64));
            event.done();
            return (float) number.get(ValueLayout.JAVA_DOUBLE, 0);
        }
    }

    /** Returns when the first process has called it, too. */
    static void waitForFirst(Processes processes) {
        try (Arena arena = Arena.ofShared()) {
            processes.broadcast(arena.allocate(ValueLayout.JAVA_BYTE), 1, DataType.I8);
        }
    }
}
