package dev.banyan.reduce;

/**
 * The ranks that a process holds.
 *
 * @param first the first one
 * @param count how many follow, itself included; at least 1
 */
record RankRange(int first, int count) {
    boolean contains(int rank) {
        return rank >= first && rank < first + count;
    }
}
