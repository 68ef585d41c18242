package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.memory.ProgramPieces;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.ptx.ProgramLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import jcuda.driver.CUstream;

/**
 * The flags and the slots of device programs. All programs of a backend share them, as a block of a rank runs one loop
 * at a time, in the order of launches:
 *
 * <ul>
 *   <li>Slots belong to the block that receives. Its senders fill them only when its loop has begun; those of lines
 *       also when they are in the half that no launch can still read, see {@link
 *       dev.banyan.schedule.internal.program.ProgramLayout#takesLinesOnce}.
 *   <li>The data flag of a channel belongs to the block that receives, and the number of the channel there. The next
 *     sender posts it only when the loop before has ended.
 *   <li>A credit flag lies with the sender and belongs to the receiving block, which alone writes it.
 *   <li>The flag of an order belongs to both blocks: the first one may be ahead by several loops.
 * </ul>
 *
 * <p>So every flag has one writer at a time, and as values only grow, what is left of earlier loops is never mistaken.
 * Slots of the {@link ProgramLoop.Form#LINES} form never hold anything else, as any data could look like a flag.
 *
 * <p>Where several processes hold the ranks, all of them ask for the same flags and slots in the same order, so that
 * they agree where these are; {@link #share} makes the memory of one known to the others.
 *
 * <p>Safe for use from any thread.
 */
public final class ProgramMemory {
    /** The owner of a flag. */
    sealed interface Flag {
        record Data(int receiver, int block, int input) implements Flag {}

        record Credit(int sender, int receiver, int block, int input) implements Flag {}

        record Order(int rank, int from, int block, int input) implements Flag {}

        /** The rank in whose memory it lies. */
        default int rank() {
            return switch (this) {
                case Data data -> data.receiver();
                case Credit credit -> credit.sender();
                case Order order -> order.rank();
            };
        }
    }

    /**
     * The place of a flag or a slot.
     *
     * @param piece number of a piece of memory
     * @param offset from its begin, in bytes
     */
    record Spot(int piece, long offset) {
        private Spot plus(long bytes) {
            return new Spot(piece, offset + bytes);
        }
    }

    /** Regions of one length. */
    private record Regions(int place, ProgramLoop.Form form, long bytes) {}

    /** So far apart flags never share a line of a cache. */
    private static final int FLAG_BYTES = 128;

    private static final int FLAGS_AT_ONCE = 256;

    private final Ranks ranks;
    private final ProgramPieces pieces;
    private final long limit;
    private final Map<Flag, Spot> flags = new HashMap<>();
    /** By rank, the next free flag. */
    private final Map<Integer, Spot> nextFlag = new HashMap<>();

    /** The number of free flags of each rank. */
    private final long[] freeFlags;

    private final Map<Regions, List<Spot>> regions = new HashMap<>();
    /** Bytes of slots by place. */
    private final Map<Integer, Long> used = new HashMap<>();

    /** @param limit greatest number of bytes of slots of each rank on its device */
    public ProgramMemory(Ranks ranks, ProgramPieces pieces, long limit) {
        this.ranks = ranks;
        this.pieces = pieces;
        this.limit = limit;
        freeFlags = new long[ranks.size()];
    }

    /** Returns where a flag is, which is 0 at first. */
    synchronized Spot flag(Flag flag) {
        Spot known = flags.get(flag);
        return known == null ? addFlag(flag) : known;
    }

    private Spot addFlag(Flag flag) {
        int rank = flag.rank();
        if (freeFlags[rank] == 0) {
            long bytes = Math.max(pieces.leastBytes(), (long) FLAGS_AT_ONCE * FLAG_BYTES);
            nextFlag.put(rank, new Spot(pieces.add(ranks.place(rank), bytes, false), 0));
            freeFlags[rank] = bytes / FLAG_BYTES;
        }
        Spot spot = Objects.requireNonNull(nextFlag.get(rank));
        nextFlag.put(rank, spot.plus(FLAG_BYTES));
        freeFlags[rank]--;
        flags.put(flag, spot);
        return spot;
    }

    /**
     * Returns where the slots of a device's blocks are. Lines are 0 at first.
     *
     * @param place of the device
     * @param bytes that each block needs; a power of two
     * @param blocks number of blocks of the device, whichever ranks they work for
     * @throws NoProgramException if there may not be so many bytes
     */
    synchronized List<Spot> slots(int place, ProgramLoop.Form form, long bytes, int blocks) throws NoProgramException {
        List<Spot> spots = regions.computeIfAbsent(new Regions(place, form, bytes), _ -> new ArrayList<>());
        int missing = blocks - spots.size();
        if (missing > 0) {
            int here = ranks.countAt(place);
            if ((used.getOrDefault(place, 0L) + missing * bytes) / here > limit) {
                throw new NoProgramException("slots of " + missing * bytes + " bytes for " + here
                        + " ranks of one device would be more than BANYAN_BUFFER_LIMIT, " + limit
                        + " for each, allows");
            }
            Spot start = new Spot(
                    pieces.add(place, Math.max(pieces.leastBytes(), missing * bytes), form == ProgramLoop.Form.LINES),
                    0);
            used.merge(place, missing * bytes, Long::sum);
            for (int block = 0; block < missing; block++) {
                spots.add(start.plus(block * bytes));
            }
        }
        return List.copyOf(spots.subList(0, blocks));
    }

    /**
     * Makes what was asked for known to all processes, if there are several.
     *
     * @param what it is for, the same in all processes
     */
    void share(String what) {
        pieces.share(what);
    }

    /** Returns the address of a flag or slot that is shared, as a device of this process sees it. */
    long address(Spot spot, CudaDevice viewer) {
        return pieces.address(spot.piece(), viewer) + spot.offset();
    }

    /** Clears all lines of this process's devices, behind what is in their streams. */
    void clearLines(Function<CudaDevice, CUstream> streams) {
        pieces.clearLines(streams);
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    public List<Integer> free() {
        return pieces.free();
    }
}
