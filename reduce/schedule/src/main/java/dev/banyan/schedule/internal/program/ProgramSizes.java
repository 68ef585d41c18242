package dev.banyan.schedule.internal.program;

/**
 * The sizes by which programs are cut.
 *
 * @param lowLatencyBytes greatest number of bytes of a rank's data that go in lines with flags
 * @param sliceBytes greatest length of a slice of plain data in bytes, a positive multiple of 512
 * @param slots of a channel, a power of two
 * @param blocks greatest number of blocks of a rank, at least 1
 */
public record ProgramSizes(long lowLatencyBytes, int sliceBytes, int slots, int blocks) {
    /** Parts of lanes and slices are multiples of this, in bytes, for loads of 16 bytes and whole lines of a cache. */
    static final int UNIT = 512;

    /**
     * Lines are twice as long as their data, but come a fence and a flag sooner: about 2 us a hop. A slice of 64 KiB
     * takes a block of an H100 4 to 5 us, so that four slots cover the flags' way there and back. NCCL has 8 slots of
     * 512 KiB, and at most 64 blocks.
     */
    public static final ProgramSizes DEFAULT = new ProgramSizes(64 << 10, 64 << 10, 4, 48);

    /**
     * Shorter slices fill a pipeline sooner, longer ones need fewer flags; in simulation, so many are close to the best
     * where a slice costs 0.3 to 1 us beside its data, and twice as many are not.
     */
    private static final int SLICES = 32;

    /** A block has so many slices in a staging buffer. */
    private static final int SLICES_OF_A_STAGE = 8;

    /** Slices of plain data are not cut shorter for that. */
    private static final int LEAST_SLICE = 16 * UNIT;

    /** @throws IllegalArgumentException if a number is out of range */
    public ProgramSizes {
        if (lowLatencyBytes < 0
                || sliceBytes < UNIT
                || sliceBytes % UNIT != 0
                || slots < 1
                || Integer.bitCount(slots) != 1
                || blocks < 1) {
            throw new IllegalArgumentException(lowLatencyBytes + " bytes in lines, slices of " + sliceBytes + " bytes, "
                    + slots + " slots, " + blocks + " blocks; take slices of a multiple of 512 bytes, a power of two of"
                    + " slots, and at least one block");
        }
    }

    /** Returns the same with fewer blocks. */
    public ProgramSizes withBlocks(int most) {
        return new ProgramSizes(lowLatencyBytes, sliceBytes, slots, most);
    }

    /** Returns the bytes of a block in the staging buffer of a rank: 512 KiB by default. */
    public int stageOfABlock() {
        return SLICES_OF_A_STAGE * sliceBytes;
    }

    /** Returns the bytes of a slice of a lane of plain data. */
    int sliceOf(long laneBytes) {
        long even = Math.ceilDiv(Math.ceilDiv(laneBytes, (long) SLICES), (long) UNIT) * UNIT;
        return Math.clamp(even, leastSlice(), sliceBytes);
    }

    /** Returns the least bytes of a slice of a lane that is longer. */
    int leastSlice() {
        return Math.min(sliceBytes, LEAST_SLICE);
    }
}
