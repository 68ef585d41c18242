package dev.banyan.reduce.internal.code;

/** A chunk's steps, compiled. Immutable. */
public sealed interface ChunkCode permits FusedCode, StepCode, IntegerMeanCode {
    /**
     * Runs all steps on one block of the chunk.
     *
     * @param frame the buffers and the kernel of the running thread
     * @param firstElement first element of the block in the chunk
     * @param elements length of the block
     */
    void run(Frame frame, long firstElement, int elements);

    /** Returns the length of the private memory that it uses in each thread. */
    long privateBytes();

    /** Returns the number of blocks that it reads or writes, for an estimate of its time. */
    int streams();

    /** Returns where the chunk begins in every buffer that it is in, in bytes; -1 if these are not all alike. */
    default long place() {
        return -1;
    }

    /**
     * Extends buffers to the bytes that this code accesses without a check of its own.
     *
     * @param extents least length of each buffer in bytes
     * @param bytes length of the chunk
     */
    default void extend(long[] extents, long bytes) {}
}
