package dev.banyan.cuda.internal.memory;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.reduce.internal.BackendArguments;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Memory that all processes allocate together, a piece for each rank, and that the devices of all of them may touch. It
 * lasts as long as its {@link ProgramPieces}. All allocate in one order.
 *
 * <p>Each device sees a piece at an address of its own, so that kernels send each other handles: the number of the
 * piece and an offset. Each device has a table with the address of each piece by its number.
 *
 * <p>Safe for use from any thread.
 */
public final class JointMemory {
    /** A handle is the number of a piece, shifted left by so many bits, and the offset in bytes. */
    public static final int OFFSET_BITS = 40;

    /** The bit that is set where, in place of a handle, the address of other memory is sent. */
    public static final long FOREIGN = Long.MIN_VALUE;

    private static final long ALIGNMENT = 512;
    private static final int MOST_PIECES = 1 << 18;

    /** @param number of the piece in the tables */
    private record Part(int rank, int number, long bytes) {}

    private final Ranks ranks;
    private final Map<CudaDevice, CopyLane> lanes;
    private final ProgramPieces pieces;
    /** The piece with the table of each place. */
    private final List<Integer> tables;
    /** Pieces of the ranks of this process, by address. */
    private final TreeMap<Long, Part> parts = new TreeMap<>();
    /** The multicast addresses of pieces that were added together, 0 where there are none. */
    private final List<Long> multicasts = new ArrayList<>();
    /** The addresses of the pieces that the ranks of this process got last. */
    private List<Long> last = List.of();

    private long used;
    private long bytesOfLast;
    private int pieceCount;

    /**
     * @param lanes copies to each device
     * @param pieces allocates the memory, in all processes in the same order
     */
    public JointMemory(Ranks ranks, Map<CudaDevice, CopyLane> lanes, ProgramPieces pieces) {
        this.ranks = ranks;
        this.lanes = lanes;
        this.pieces = pieces;
        tables = IntStream.range(0, ranks.places())
                .mapToObj(place -> pieces.add(place, (long) Long.BYTES * MOST_PIECES, false))
                .toList();
        pieces.share("joining");
    }

    /**
     * Allocates a zeroed buffer for each rank of this process. Waits for the other processes where the rest of the last
     * pieces is too short.
     *
     * @throws IllegalStateException if they do something else, or one has ended
     */
    public synchronized List<MemorySegment> allocate(long bytes) {
        BackendArguments.checkAllocation(ranks.first(), ranks.size(), bytes);
        if (bytes == 0) {
            return Collections.nCopies(ranks.held().size(), MemorySegment.NULL);
        }
        long whole = Math.ceilDiv(bytes, ALIGNMENT) * ALIGNMENT;
        if (whole > bytesOfLast - used) {
            add(Math.ceilDiv(whole, pieces.leastBytes()) * pieces.leastBytes());
        }
        long offset = used;
        used += whole;
        return last.stream()
                .map(address -> DeviceSpace.segment(address + offset, bytes))
                .toList();
    }

    private void add(long bytes) {
        if (pieceCount + ranks.size() > MOST_PIECES) {
            throw new IllegalStateException("all processes have allocated memory together " + pieceCount / ranks.size()
                    + " times, which is the most; allocate larger buffers and take slices of them");
        }
        List<Integer> added = IntStream.range(0, ranks.size())
                .mapToObj(rank -> pieces.add(ranks.place(rank), bytes, false))
                .toList();
        String what = "allocating buffers of " + bytes + " bytes together";
        pieces.share(what);
        multicasts.add(pieces.multicast(added, what));
        lanes.forEach((device, lane) -> lane.write(
                table(device) + (long) Long.BYTES * pieceCount,
                MemorySegment.ofArray(added.stream()
                        .mapToLong(piece -> pieces.address(piece, device))
                        .toArray())));
        List<Long> own = new ArrayList<>();
        for (int rank = ranks.first(); rank < ranks.first() + ranks.held().size(); rank++) {
            own.add(pieces.address(added.get(rank), ranks.get(rank)));
            parts.put(own.getLast(), new Part(rank, pieceCount + rank, bytes));
        }
        last = own;
        used = 0;
        bytesOfLast = bytes;
        pieceCount += ranks.size();
    }

    /** Returns the address of a device's table. */
    public long table(CudaDevice device) {
        int rank = ranks.first() + ranks.held().indexOf(device);
        return pieces.address(tables.get(ranks.place(rank)), device);
    }

    /** Returns whether kernels may get multicast addresses, in all processes alike. */
    public boolean multicasts() {
        return pieces.multicasts();
    }

    /** Returns the multicast address of what has a handle, or 0 if there is none. */
    public synchronized long multicast(long handle) {
        long address = multicasts.get((int) (handle >> OFFSET_BITS) / ranks.size());
        return address == 0 ? 0 : address + (handle & (1L << OFFSET_BITS) - 1);
    }

    /** Returns the handle of bytes of a rank of this process, or -1 if they are other memory. */
    public synchronized long handle(int rank, long address, long bytes) {
        Map.Entry<Long, Part> below = parts.floorEntry(address);
        return below == null
                        || below.getValue().rank() != rank
                        || address + bytes > below.getKey() + below.getValue().bytes()
                ? -1
                : ((long) below.getValue().number() << OFFSET_BITS) + address - below.getKey();
    }
}
