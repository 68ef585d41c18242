package dev.banyan.cli.bench;

import dev.banyan.reduce.backend.Backend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Memory of the ranks of this process, and how the host gets at it: directly, or by a copy of its own. */
public final class RankMemory {
    private static final int ALIGNMENT = 64;

    private final List<MemorySegment> buffers;
    private final List<MemorySegment> host;
    private final @Nullable Backend backend;

    private RankMemory(List<MemorySegment> buffers, List<MemorySegment> host, @Nullable Backend backend) {
        this.buffers = buffers;
        this.host = host;
        this.backend = backend;
    }

    /** In the host's memory. */
    static RankMemory ofHost(Arena arena, int ranks, long bytes) {
        return ofHost(segments(arena, ranks, bytes));
    }

    /** Buffers that are in the host's memory already. */
    static RankMemory ofHost(List<MemorySegment> buffers) {
        return new RankMemory(buffers, buffers, null);
    }

    /** On GPUs, with a copy on the host. It is freed with the backend. */
    static RankMemory onGpus(Arena arena, int ranks, long bytes, Backend backend) {
        return new RankMemory(
                IntStream.range(0, ranks)
                        .mapToObj(rank -> backend.allocate(rank, bytes))
                        .toList(),
                segments(arena, ranks, bytes),
                backend);
    }

    private static List<MemorySegment> segments(Arena arena, int ranks, long bytes) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> arena.allocate(bytes, ALIGNMENT))
                .toList();
    }

    /** What calls work on, one per rank. */
    public List<MemorySegment> buffers() {
        return buffers;
    }

    /** What the host may read and write, one per rank. */
    public List<MemorySegment> host() {
        return host;
    }

    /** Whether the two are one. */
    boolean isOfHost() {
        return backend == null;
    }

    /** Makes the buffers what the host has. */
    public void send() {
        send(0, host.getFirst().byteSize());
    }

    /** The same for a part of every rank's. */
    void send(long from, long bytes) {
        if (backend != null) {
            for (int rank = 0; rank < host.size(); rank++) {
                backend.copyToDevice(
                        buffers.get(rank).asSlice(from, bytes), host.get(rank).asSlice(from, bytes));
            }
        }
    }

    /** Makes what the host has the buffers. */
    void fetch() {
        fetch(0, host.getFirst().byteSize());
    }

    /** The same for a part of every rank's. */
    void fetch(long from, long bytes) {
        if (backend != null) {
            for (int rank = 0; rank < host.size(); rank++) {
                backend.copyToHost(
                        buffers.get(rank).asSlice(from, bytes), host.get(rank).asSlice(from, bytes));
            }
        }
    }
}
