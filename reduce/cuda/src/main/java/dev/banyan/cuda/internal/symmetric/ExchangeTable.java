package dev.banyan.cuda.internal.symmetric;

import dev.banyan.cuda.internal.ptx.Kernel;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/**
 * The part of a rank in an exchange, in the memory of its device, where the parts of all its ranks lie one behind
 * another. Layout, offsets in bytes:
 *
 * <pre>
 *   0 u32 blocks, u32 ranks, u64 address of the done counter (u32, 0 at first)
 *  16 u64 address of this rank's flags, u32 rank, u32 number of shares
 *  32 for each rank, up to 16: u64 address of its flags
 * 160 u32 ranks of this device, u32 bytes from the begin of a part to the next one's, u64 address of a table
 * 176 u32 first phase, u32 bytes of the stage of a block, u64 bytes of a slice, u64 bytes of the longest share
 * 200 the shares: u32 sources, u32 targets, u32 divisor, u32 kind, u64 elements, u64 0,
 *     for each source and then each target: u32 buffer, u32 0, u64 offset in bytes
 * </pre>
 *
 * <p>Buffers are numbered as the parameters of the kernel. A place in the stage has the number {@link #STAGE} and, as
 * its offset, the address in the part of block 0. The flags of a rank are in its memory: for each block and each
 * sender, which alone writes it, 8 bytes at a multiple of {@link #FLAG_BYTES}.
 *
 * <p>Where other processes hold ranks, the kernel gets the handles of its ranks' buffers. Each rank sends those of its
 * input and its output to all with its first flag, {@link #HANDLES} bytes behind it, and finds the addresses of others'
 * buffers in the table of {@link dev.banyan.cuda.internal.memory.JointMemory}. All ranks see the same handles. If these
 * differ by the rank's number alone, the switch takes part, else it does not. In place of a handle a rank sends the
 * address of a buffer that other processes do not map, with a bit set. Then the data of all goes through the stage.
 *
 * @param flags address of each rank's flags
 * @param joint address of the table for handles, or 0 if the kernel gets the addresses of all buffers
 * @param staging the way of data through the stage
 */
record ExchangeTable(int blocks, int rank, List<Long> flags, List<Share> shares, long joint, Staging staging) {
    static final int RANKS = 4;
    static final int DONE_COUNTER = 8;
    static final int OWN_FLAGS = 16;
    static final int RANK = 24;
    static final int SHARES = 28;
    static final int FLAGS = 32;
    static final int RANKS_HERE = FLAGS + 8 * Kernel.Program.MOST_RANKS;
    static final int BYTES_APART = RANKS_HERE + 4;
    static final int JOINT = RANKS_HERE + 8;
    static final int PHASE = RANKS_HERE + 16;
    static final int STAGE_OF_A_BLOCK = RANKS_HERE + 20;
    static final int SLICE = RANKS_HERE + 24;
    static final int LONGEST = RANKS_HERE + 32;
    static final int FIRST_SHARE = RANKS_HERE + 40;
    static final int SHARE_BYTES = 32;
    static final int PLACE_BYTES = 16;
    static final int FLAG_BYTES = 128;
    static final int HANDLES = 16;
    /** Number of the buffer whose offsets are addresses in the stage. */
    static final int STAGE = Kernel.Program.BUFFERS;
    /** Kernels take so many bytes at once. */
    static final int WORD_BYTES = 16;

    /**
     * The way of data through the stage.
     *
     * @param phase {@link Share#DIRECT} or {@link Share#COPY_IN}: what the kernel begins with, unless handles show that
     *     it must copy
     * @param bytesOfABlock of the stage
     * @param slice bytes of a share that a block takes at once
     * @param longest bytes of the longest share of all ranks
     */
    record Staging(int phase, int bytesOfABlock, long slice, long longest) {}

    /**
     * A place in a buffer.
     *
     * @param buffer number of the parameter
     * @param offset in bytes
     */
    record Place(int buffer, long offset) {}

    /**
     * Elements that a rank combines; the result is divided by the divisor.
     *
     * @param kind one of the phases; {@link #COMBINED}, {@link #TO_ALL} or both, for multiples of 16 bytes in aligned
     *     places; and {@link #ALIKE} or {@link #ELSEWHERE}, if a kernel learns from handles whether the switch can take
     *     part
     */
    record Share(List<Place> sources, List<Place> targets, int divisor, int kind, long elements) {
        /** The only source is a multicast address. */
        static final int COMBINED = 1;
        /** The only target is a multicast address. */
        static final int TO_ALL = 2;
        /** The bits that say which of its addresses are multicast ones. */
        static final int MULTICAST = COMBINED + TO_ALL;
        /** It is for buffers that have multicast addresses and lie in the same place of all ranks. */
        static final int ALIKE = 4;
        /** It is for other buffers. */
        static final int ELSEWHERE = 8;
        /**
         * The phase that copies slices of this rank's inputs into its stage, each source to the target of its number.
         * Each phase is twice the one before.
         */
        static final int COPY_IN = 16;
        /** The phase that combines a slice from the stages of all and stores it there. */
        static final int STAGED = 32;
        /** The phase that copies slices of results from this rank's stage to its outputs in the same way. */
        static final int COPY_OUT = 64;
        /** The only phase of shares that do not go through the stage. */
        static final int DIRECT = 128;

        private int bytes() {
            return SHARE_BYTES + PLACE_BYTES * (sources.size() + targets.size());
        }
    }

    /** Returns the bytes of the flags of a rank. */
    static long flagBytes(int blocks) {
        return (long) FLAG_BYTES * Kernel.Program.MOST_RANKS * blocks;
    }

    private int bytes() {
        return FIRST_SHARE + shares.stream().mapToInt(Share::bytes).sum();
    }

    /** Returns the bytes of the parts of one device. */
    static int bytes(List<ExchangeTable> ranks) {
        return ranks.size() * apart(ranks);
    }

    private static int apart(List<ExchangeTable> ranks) {
        return ranks.stream().mapToInt(ExchangeTable::bytes).max().orElseThrow();
    }

    /**
     * Returns the parts of one device as they must lie in memory, wherever that is.
     *
     * @param doneCounter address of 4 bytes in the memory of the GPU, 0 before the first launch
     */
    static ByteBuffer write(List<ExchangeTable> ranks, long doneCounter) {
        ByteBuffer tables = ByteBuffer.allocateDirect(bytes(ranks)).order(ByteOrder.nativeOrder());
        for (int r = 0; r < ranks.size(); r++) {
            tables.position(r * apart(ranks) + RANKS_HERE);
            tables.putInt(ranks.size())
                    .putInt(apart(ranks))
                    .putLong(ranks.get(r).joint());
            Staging staging = ranks.get(r).staging();
            tables.putInt(staging.phase()).putInt(staging.bytesOfABlock());
            tables.putLong(staging.slice()).putLong(staging.longest());
            ranks.get(r).write(tables.position(r * apart(ranks)), doneCounter);
        }
        return tables.rewind();
    }

    private void write(ByteBuffer table, long doneCounter) {
        int begin = table.position();
        table.putInt(blocks).putInt(flags.size()).putLong(doneCounter);
        table.putLong(flags.get(rank)).putInt(rank).putInt(shares.size());
        flags.forEach(table::putLong);
        table.position(begin + FIRST_SHARE);
        for (Share share : shares) {
            table.putInt(share.sources().size()).putInt(share.targets().size());
            table.putInt(share.divisor())
                    .putInt(share.kind())
                    .putLong(share.elements())
                    .putLong(0);
            share.sources().forEach(place -> put(table, place));
            share.targets().forEach(place -> put(table, place));
        }
    }

    private static void put(ByteBuffer table, Place place) {
        table.putInt(place.buffer()).putInt(0).putLong(place.offset());
    }
}
