package dev.banyan.reduce;

import dev.banyan.reduce.backend.Backend;
import dev.banyan.reduce.backend.RankRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * Device memory for codes and integers of reproducible sums. All sums of a communicator share it, since they follow
 * each other on the devices. When a longer sum needs more, what earlier ones may still use is kept until
 * {@link #close}; capacities double, so that all together is at most twice the last.
 */
final class SumMemory implements AutoCloseable {
    private static final long LEAST_BYTES = 1 << 16;

    private final Backend backend;
    private final RankRange held;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment[] codes;
    private final MemorySegment[] integers;

    SumMemory(Backend backend, int ranks, RankRange held) {
        this.backend = backend;
        this.held = held;
        codes = new MemorySegment[ranks];
        integers = new MemorySegment[ranks];
        Arrays.fill(codes, MemorySegment.NULL);
        Arrays.fill(integers, MemorySegment.NULL);
    }

    /** Returns a segment of at least some bytes for each rank of this process. */
    MemorySegment[] codes(long bytes) {
        return grown(codes, bytes);
    }

    /** Returns a segment of at least some bytes for each rank of this process. */
    MemorySegment[] integers(long bytes) {
        return grown(integers, bytes);
    }

    private MemorySegment[] grown(MemorySegment[] segments, long bytes) {
        for (int rank = held.first(); rank < held.first() + held.count(); rank++) {
            if (segments[rank].byteSize() < bytes) {
                long size = Math.max(Math.max(LEAST_BYTES, bytes), 2 * segments[rank].byteSize());
                segments[rank] = backend.allocate(rank, size, arena);
            }
        }
        return segments;
    }

    /** Frees the memory; no call uses it. */
    @Override
    public void close() {
        arena.close();
    }
}
