package dev.banyan.schedule.internal.algorithm;

import dev.banyan.trees.packing.ForestCost;

/**
 * Computes the length of chunks before anything runs. Short chunks fill the pipeline of a tree sooner, but each chunk
 * costs time.
 *
 * <p>Trees that carry {@code b} bytes at a rate {@code R} in {@code c} chunks each, through {@code s} stages,
 * take {@code b / R (1 + (s - 1) / c) + a c} where every chunk of a tree costs {@code a}. That is least for
 * {@code c = sqrt((s - 1) b / (R a))}, rounded to whole chunks; a chunk is a {@code c}-th of a mean slice.
 */
public final class ChunkRule {
    /** Shorter chunks cost more time to start than to send, whatever overhead is given. */
    private static final long LEAST_BYTES = 4 << 10;
    /** Longer chunks need more scratch memory, and a stuck step is noticed later. */
    private static final long MOST_BYTES = 64 << 20;

    private ChunkRule() {}

    /**
     * Returns the length of chunks as {@link CollectiveRequest#chunkBytes} takes it: of the piece of one tree's slice
     * that goes along the tree at once. O(1).
     *
     * @param cost the trees
     * @param bytes all data, as nccl-tests count them, at least 0
     * @param chunkOverheadUs the time that a further chunk of each tree takes in us, above 0
     * @return bytes, a multiple of 64 from 4 KiB to 64 MiB
     * @throws IllegalArgumentException if an argument is out of range
     */
    public static long chunkBytes(ForestCost cost, long bytes, double chunkOverheadUs) {
        if (bytes < 0 || !(chunkOverheadUs > 0)) {
            throw new IllegalArgumentException("chunks for " + bytes + " bytes that cost " + chunkOverheadUs
                    + " us each; there must be at least 0 bytes and a cost above 0");
        }
        double us = bytes / (cost.rateGbs().doubleValue() * 1e3);
        double chunks = Math.max(1, Math.rint(Math.sqrt((cost.stages() - 1) * us / chunkOverheadUs)));
        long length = (long) Math.ceil(bytes / chunks / cost.trees() / Partition.ALIGNMENT) * Partition.ALIGNMENT;
        return Math.clamp(length, LEAST_BYTES, MOST_BYTES);
    }
}
