package dev.banyan.cli.bench;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.IntStream;

/** A buffer per rank, of which calls use the first bytes. */
final class Buffers {
    private static final int ALIGNMENT = 64;

    private final MemorySegment[] whole;

    private Buffers(MemorySegment[] whole) {
        this.whole = whole;
    }

    static Buffers allocate(Arena arena, int ranks, long bytes) {
        return new Buffers(IntStream.range(0, ranks)
                .mapToObj(rank -> arena.allocate(bytes, ALIGNMENT))
                .toArray(MemorySegment[]::new));
    }

    /** The first bytes of every rank's buffer. */
    MemorySegment[] first(long bytes) {
        return Arrays.stream(whole).map(buffer -> buffer.asSlice(0, bytes)).toArray(MemorySegment[]::new);
    }
}
