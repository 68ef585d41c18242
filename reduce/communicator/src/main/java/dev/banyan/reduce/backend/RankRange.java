package dev.banyan.reduce.backend;

/**
 * The ranks that a process holds.
 *
 * @param first the first one, at least 0
 * @param count how many follow, itself included; at least 1
 */
public record RankRange(int first, int count) {
    /** Returns whether the process holds a rank. */
    public boolean contains(int rank) {
        return rank >= first && rank < first + count;
    }
}
