package dev.banyan.cuda;

/**
 * How device programs are cut.
 *
 * @param lowLatencyBytes greatest number of bytes of a schedule's data that go in lines with flags
 * @param sliceBytes greatest length of a slice of plain data, a multiple of 512
 * @param slots of a channel of plain data, a power of two
 * @param blocks greatest number of blocks of a rank
 */
record ProgramSizes(long lowLatencyBytes, int sliceBytes, int slots, int blocks) {
    /**
     * Lines are twice as long as their data, but come a fence and a flag sooner: about 2 us a hop. A slice of 64 KiB takes
     * a block about 3 us, so that four slots cover the flags' way there and back. NCCL has 8 slots of 512 KiB, and at most
     * 64 blocks.
     */
    static final ProgramSizes DEFAULT = new ProgramSizes(64 << 10, 64 << 10, 4, 48);

    /** Shorter slices end sooner, longer ones need fewer flags: about so many fill a pipeline. */
    private static final int SLICES = 16;

    private static final int UNIT = 512;

    /** Bytes of a slice of a lane of plain data. */
    int sliceOf(long laneBytes) {
        long even = Math.ceilDiv(Math.ceilDiv(laneBytes, (long) SLICES), (long) UNIT) * UNIT;
        return Math.clamp(even, Math.min(sliceBytes, 16 * UNIT), sliceBytes);
    }
}
