package dev.banyan.reduce.internal.host;

import dev.banyan.reduce.internal.processes.ControlBlock;
import dev.banyan.reduce.internal.processes.Job;
import dev.banyan.reduce.internal.processes.SharedMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Pieces of memory that the processes of a job share: those of this process, from which its buffers are taken, and
 * those of the others, which are mapped when they are first used. Used by one thread at a time.
 */
final class SharedPieces implements AutoCloseable {
    /** A piece has room for many buffers; the kernel finds room for pages that are touched alone. */
    private static final long PIECE_BYTES = 1L << 30;

    /**
     * A place in shared memory.
     *
     * @param piece of this process
     * @param offset in bytes
     */
    record Place(int piece, long offset) {}

    private final Job job;
    private final List<SharedMemory> own = new ArrayList<>();
    /** The number of each own piece by its address. */
    private final TreeMap<Long, Integer> byAddress = new TreeMap<>();

    private final List<List<@Nullable SharedMemory>> others = new ArrayList<>();
    private int current = -1;
    private long used;
    private int staging = -1;

    /** The first piece of every process. */
    private static final int INBOX = 0;

    SharedPieces(Job job) {
        this.job = job;
        for (int p = 0; p < job.processes(); p++) {
            others.add(new ArrayList<>());
        }
        add(Inboxes.BYTES);
    }

    /** Returns the memory through which a process gives inputs of short calls to the others. */
    MemorySegment inbox(int process) {
        return piece(process, INBOX);
    }

    /** Returns zeroed memory that all processes can map. */
    MemorySegment allocate(long bytes, int rank) {
        long shift = HostBackend.stagger(rank);
        long needed = wholePages(shift + bytes);
        if (current < 0 || used + needed > own.get(current).memory().byteSize()) {
            current = add(Math.max(PIECE_BYTES, needed));
            used = 0;
        }
        MemorySegment memory = own.get(current).memory().asSlice(used + shift, bytes);
        used += needed;
        return memory;
    }

    private int add(long bytes) {
        int piece = own.size();
        if (piece == ControlBlock.MOST_PIECES) {
            throw new IllegalStateException("this process has " + piece
                    + " pieces of shared memory, and there is room for no more; allocate larger buffers");
        }
        SharedMemory memory = SharedMemory.create("banyan-memory", bytes);
        own.add(memory);
        byAddress.put(memory.memory().address(), piece);
        job.block().setPiece(job.process(), piece, memory.descriptor(), bytes);
        return piece;
    }

    /** Returns where a buffer is in shared memory of this process, or null if it is elsewhere. */
    @Nullable
    Place find(MemorySegment buffer) {
        Map.Entry<Long, Integer> below = byAddress.floorEntry(buffer.address());
        if (below == null) {
            return null;
        }
        long offset = buffer.address() - below.getKey();
        return offset + buffer.byteSize() <= own.get(below.getValue()).memory().byteSize()
                ? new Place(below.getValue(), offset)
                : null;
    }

    /** Returns the piece that holds copies of buffers during a run, of at least some bytes. */
    int staging(long bytes) {
        if (staging < 0 || own.get(staging).memory().byteSize() < bytes) {
            staging = add(
                    Math.max(2 * (staging < 0 ? 0 : own.get(staging).memory().byteSize()), wholePages(bytes)));
        }
        return staging;
    }

    private static long wholePages(long bytes) {
        return Math.ceilDiv(Math.max(bytes, 1), HostBackend.PAGE_BYTES) * HostBackend.PAGE_BYTES;
    }

    /** Returns a piece of a process. */
    MemorySegment piece(int process, int piece) {
        if (process == job.process()) {
            return own.get(piece).memory();
        }
        List<@Nullable SharedMemory> known = others.get(process);
        while (known.size() <= piece) {
            known.add(null);
        }
        SharedMemory memory = known.get(piece);
        if (memory == null) {
            memory = job.block().open(process, piece);
            known.set(piece, memory);
        }
        return memory.memory();
    }

    @Override
    public void close() {
        own.forEach(SharedMemory::close);
        for (List<@Nullable SharedMemory> known : others) {
            for (SharedMemory memory : known) {
                if (memory != null) {
                    memory.close();
                }
            }
        }
    }
}
