package dev.banyan.cli.bench.rank;

import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.Backend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Memory of the ranks of this process, and how the host gets at it: directly, or by a copy of its own. */
public final class RankMemory {
    private static final int ALIGNMENT = 64;

    private final List<MemorySegment> buffers;
    private final List<MemorySegment> host;
    private final @Nullable Copies copies;

    private RankMemory(List<MemorySegment> buffers, List<MemorySegment> host, @Nullable Copies copies) {
        this.buffers = buffers;
        this.host = host;
        this.copies = copies;
    }

    /**
     * Copies bytes to devices and back.
     *
     * @param toDevice takes the target and the source
     * @param toHost takes the source and the target
     */
    private record Copies(
            BiConsumer<MemorySegment, MemorySegment> toDevice, BiConsumer<MemorySegment, MemorySegment> toHost) {}

    /** In the host's memory. */
    static RankMemory ofHost(Arena arena, int ranks, long bytes) {
        return ofHost(segments(arena, ranks, bytes));
    }

    private static RankMemory ofHost(List<MemorySegment> buffers) {
        return new RankMemory(buffers, buffers, null);
    }

    /** In memory that all processes allocate together; a copy on the host, if needed, is freed with the arena. */
    public static RankMemory of(Communicator communicator, long bytes, Arena arena) {
        List<MemorySegment> buffers = communicator.allocateAll(bytes);
        return communicator.inHostMemory()
                ? ofHost(buffers)
                : new RankMemory(
                        buffers,
                        segments(arena, buffers.size(), bytes),
                        new Copies(communicator::copyToDevice, communicator::copyToHost));
    }

    /** On GPUs, with a copy on the host; both are freed with the arena, which is closed before the backend. */
    static RankMemory onGpus(Arena arena, int ranks, long bytes, Backend backend) {
        return new RankMemory(
                IntStream.range(0, ranks)
                        .mapToObj(rank -> backend.allocate(rank, bytes, arena))
                        .toList(),
                segments(arena, ranks, bytes),
                new Copies(backend::copyToDevice, backend::copyToHost));
    }

    private static List<MemorySegment> segments(Arena arena, int ranks, long bytes) {
        return IntStream.range(0, ranks)
                .mapToObj(rank -> arena.allocate(bytes, ALIGNMENT))
                .toList();
    }

    /** Returns the buffers of calls, one per rank. */
    public List<MemorySegment> buffers() {
        return buffers;
    }

    /** Returns memory that the host may read and write, one per rank. */
    public List<MemorySegment> host() {
        return host;
    }

    /** Returns whether the two are one. */
    public boolean isOfHost() {
        return copies == null;
    }

    /** Makes the buffers what the host has. */
    public void send() {
        send(0, host.getFirst().byteSize());
    }

    /** The same for a part of every rank's. */
    public void send(long from, long bytes) {
        if (copies != null) {
            copy(copies.toDevice, from, bytes);
        }
    }

    /** Makes what the host has the buffers. */
    public void fetch() {
        fetch(0, host.getFirst().byteSize());
    }

    /** The same for a part of every rank's. */
    public void fetch(long from, long bytes) {
        if (copies != null) {
            copy(copies.toHost, from, bytes);
        }
    }

    private void copy(BiConsumer<MemorySegment, MemorySegment> way, long from, long bytes) {
        for (int rank = 0; rank < host.size(); rank++) {
            way.accept(buffers.get(rank).asSlice(from, bytes), host.get(rank).asSlice(from, bytes));
        }
    }
}
