package dev.banyan.reduce.host;

/** A chunk's steps, compiled. Immutable. */
sealed interface ChunkCode permits StepCode, IntegerMeanCode {
    /**
     * Carries all steps out on one block of the chunk.
     *
     * @param frame what the running thread works with
     * @param firstElement first element of the block in the chunk
     * @param elements length of the block
     */
    void run(Frame frame, long firstElement, int elements);

    /** Number of blocks of private memory of a thread that it uses. */
    int privateBlocks();

    /** Number of blocks that it reads or writes, for an estimate of its time. */
    int streams();
}
