package dev.banyan.reduce.internal;

import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Checks the arguments of every backend, so that all reject the same arguments with the same messages. */
public final class BackendArguments {
    /** A thread that owns no arena and is never started. The first virtual one would start threads of the JDK. */
    private static final Thread ANOTHER = Thread.ofPlatform().unstarted(() -> {});

    private BackendArguments() {}

    /**
     * Checks the arguments of an allocation.
     *
     * @param bytes size in bytes
     * @throws IllegalArgumentException unless the rank is 0..ranks-1 and the size at least 0
     */
    public static void checkAllocation(int rank, int ranks, long bytes) {
        if (rank < 0 || rank >= ranks || bytes < 0) {
            throw new IllegalArgumentException(
                    bytes + " bytes for rank " + rank + "; ranks are 0.." + (ranks - 1) + ", bytes at least 0");
        }
    }

    /**
     * Checks that all threads may access an arena's memory.
     *
     * @throws IllegalArgumentException if the arena belongs to one thread
     */
    @SuppressWarnings("restricted")
    public static void checkShared(Arena arena) {
        if (!isShared(MemorySegment.NULL.reinterpret(arena, null))) {
            throw new IllegalArgumentException(
                    "the arena belongs to one thread; give Arena.ofShared(), Arena.ofAuto() or Arena.global()");
        }
    }

    /** Returns whether all threads may access the memory. */
    public static boolean isShared(MemorySegment memory) {
        return memory.isAccessibleBy(ANOTHER);
    }

    /**
     * Checks that a schedule fits a type and a backend.
     *
     * @throws IllegalArgumentException if the schedule has other elements or another number of ranks
     */
    public static void checkSchedule(Schedule schedule, DataType type, int ranks) {
        if (schedule.elementBytes() != type.bytes()) {
            throw new IllegalArgumentException("a schedule of elements of " + schedule.elementBytes() + " bytes for "
                    + type + ", which has " + type.bytes());
        }
        if (schedule.ranks() != ranks) {
            throw new IllegalArgumentException("a schedule of " + schedule.ranks() + " ranks on a backend of " + ranks);
        }
    }

    /**
     * Checks the number of a run's buffers.
     *
     * @throws IllegalArgumentException unless there is one input and one output per rank
     */
    public static void checkBuffers(MemorySegment[] inputs, MemorySegment[] outputs, int ranks) {
        if (inputs.length != ranks || outputs.length != ranks) {
            throw new IllegalArgumentException(inputs.length + " inputs and " + outputs.length + " outputs for " + ranks
                    + " ranks; give one of each per rank");
        }
    }
}
