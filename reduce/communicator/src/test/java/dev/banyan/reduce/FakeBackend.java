package dev.banyan.reduce;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.schedule.type.DataType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A backend in host memory whose schedules do what a test says. */
abstract class FakeBackend implements Backend {
    @Override
    public String name() {
        return "fake";
    }

    @Override
    public boolean inHostMemory() {
        return true;
    }

    @Override
    public MemorySegment allocate(int rank, long bytes) {
        return Arena.ofAuto().allocate(bytes);
    }

    @Override
    public MemorySegment allocate(int rank, long bytes, Arena arena) {
        return arena.allocate(bytes);
    }

    @Override
    public void copyToDevice(MemorySegment target, MemorySegment source) {
        target.copyFrom(source);
    }

    @Override
    public void copyToHost(MemorySegment source, MemorySegment target) {
        target.copyFrom(source);
    }

    @Override
    public @Nullable String refusal(MemorySegment buffer, DataType type) {
        return null;
    }

    @Override
    public void close() {}
}
