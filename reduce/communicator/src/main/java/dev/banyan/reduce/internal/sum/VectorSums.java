package dev.banyan.reduce.internal.sum;

/** Sums with vectors, straight from the memory of all ranks. */
interface VectorSums {
    /** Returns the number of elements that are summed at once. */
    int lanes();

    /**
     * Sums elements until it meets numbers that it cannot sum.
     *
     * @param sources addresses of the first element of each contribution
     * @param targets addresses to which results go
     * @param elements a multiple of {@link #lanes}
     * @return the number of elements that were summed
     */
    int sum(long[] sources, long[] targets, int elements);
}
