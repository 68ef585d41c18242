package dev.banyan.cuda;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * The flags and the slots of device programs. All programs of a backend share them, as a block of a rank runs one loop
 * at a time, in the order of launches:
 *
 * <ul>
 *   <li>Slots belong to the block that receives. Its senders fill them only when its loop has begun; those of lines
 *       also when they are in the half that no launch can still read, see {@link
 *       dev.banyan.schedule.program.ProgramLayout#takesLinesOnce}.
 *   <li>The data flag of a channel belongs to the block that receives, and the number of the channel there. The next
 *     sender posts it only when the loop before has ended.
 *   <li>A credit flag lies with the sender and belongs to the receiving block, which alone writes it.
 *   <li>The flag of an order belongs to both blocks: the first one may be ahead by several loops.
 * </ul>
 *
 * <p>So every flag has one writer at a time, and as values only grow, what is left of earlier loops is never mistaken.
 * Slots of the {@link ProgramLoop.Form#LINES} form never hold anything else, as any data could look like a flag.
 *
 * <p>Safe for use from any thread.
 */
final class ProgramMemory {
    /** What a flag belongs to. */
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

    /** Regions of one length. */
    private record Regions(CudaDevice device, ProgramLoop.Form form, long bytes) {}

    /** So far apart flags never share a line of a cache. */
    private static final int FLAG_BYTES = 128;

    private static final int FLAGS_AT_ONCE = 256;

    private final List<CudaDevice> ranks;
    private final Map<CudaDevice, CopyLane> lanes;
    private final long limit;
    private final Map<Flag, Long> flags = new HashMap<>();
    /** For each rank, the next free flags. */
    private final long[] nextFlag;

    private final int[] freeFlags;
    private final Map<Regions, List<Long>> regions = new HashMap<>();
    private final Map<CudaDevice, Long> used = new HashMap<>();
    private final List<Piece> pieces = new ArrayList<>();

    /** What is allocated. */
    private record Piece(CudaDevice device, DeviceAddress address, long bytes, boolean lines) {}

    /** @param limit greatest number of bytes of slots on each device */
    ProgramMemory(List<CudaDevice> ranks, Map<CudaDevice, CopyLane> lanes, long limit) {
        this.ranks = ranks;
        this.lanes = lanes;
        this.limit = limit;
        nextFlag = new long[ranks.size()];
        freeFlags = new int[ranks.size()];
    }

    /** Returns the address of a flag, which is 0 at first. */
    synchronized long flag(Flag flag) {
        Long known = flags.get(flag);
        return known == null ? addFlag(flag) : known;
    }

    private long addFlag(Flag flag) {
        int rank = flag.rank();
        if (freeFlags[rank] == 0) {
            nextFlag[rank] = allocate(ranks.get(rank), (long) FLAGS_AT_ONCE * FLAG_BYTES, false);
            freeFlags[rank] = FLAGS_AT_ONCE;
        }
        long address = nextFlag[rank];
        nextFlag[rank] += FLAG_BYTES;
        freeFlags[rank]--;
        flags.put(flag, address);
        return address;
    }

    /**
     * Returns the addresses of the slots of a device's blocks. Lines are 0 at first.
     *
     * @param blocks number of blocks of the device, whichever ranks they work for
     * @param bytes that each block needs; a power of two
     * @throws NoProgramException if there may not be so many bytes
     */
    synchronized List<Long> slots(CudaDevice device, ProgramLoop.Form form, long bytes, int blocks)
            throws NoProgramException {
        List<Long> addresses = regions.computeIfAbsent(new Regions(device, form, bytes), _ -> new ArrayList<>());
        int missing = blocks - addresses.size();
        if (missing > 0) {
            if (used.getOrDefault(device, 0L) + missing * bytes > limit) {
                throw new NoProgramException("slots of " + missing * bytes + " bytes on device " + device.ordinal()
                        + " would be more than BANYAN_BUFFER_LIMIT, " + limit + ", allows");
            }
            long start = allocate(device, missing * bytes, form == ProgramLoop.Form.LINES);
            used.merge(device, missing * bytes, Long::sum);
            for (int block = 0; block < missing; block++) {
                addresses.add(start + block * bytes);
            }
        }
        return List.copyOf(addresses.subList(0, blocks));
    }

    /** Allocates memory that all programs share until {@link #free}, and clears it. */
    private long allocate(CudaDevice device, long bytes, boolean lines) {
        device.enter();
        DeviceAddress address = new DeviceAddress();
        Cuda.check(
                JCudaDriver.cuMemAlloc(address, bytes),
                "cuMemAlloc of " + bytes + " bytes for device programs on device " + device.ordinal());
        pieces.add(new Piece(device, address, bytes, lines));
        CopyLane.of(device, lanes).clear(address, bytes);
        return address.value();
    }

    /** Clears all lines, behind what is in the streams. */
    synchronized void clearLines(Function<CudaDevice, CUstream> streams) {
        for (Piece piece : pieces) {
            if (piece.lines()) {
                piece.device().enter();
                Cuda.check(
                        JCudaDriver.cuMemsetD8Async(
                                piece.address(), (byte) 0, piece.bytes(), streams.apply(piece.device())),
                        "cuMemsetD8Async of lines on device " + piece.device().ordinal());
            }
        }
    }

    /**
     * Frees everything; nothing runs.
     *
     * @return results of the driver
     */
    synchronized List<Integer> free() {
        List<Integer> results = pieces.stream()
                .map(piece -> JCudaDriver.cuMemFree(piece.address()))
                .toList();
        pieces.clear();
        return results;
    }
}
