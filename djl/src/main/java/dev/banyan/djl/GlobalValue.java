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

    /** What the first process gives; all call it. */
    static boolean first(boolean own, Processes processes) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment flag = arena.allocateFrom(ValueLayout.JAVA_BYTE, (byte) (own ? 1 : 0));
            processes.broadcast(flag, 1, DataType.I8);
            return flag.get(ValueLayout.JAVA_BYTE, 0) != 0;
        }
    }
}
