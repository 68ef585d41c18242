package dev.banyan.reduce.internal.sum;

/** Sums with vectors, straight from the memory of all ranks. */
interface VectorSums {
    /** Returns the number of elements of a vector. */
    int lanes();

    /**
     * Sums elements until it meets a vector with numbers that it cannot sum.
     *
     * @param sources addresses of the first element of each contribution
     * @param targets addresses to which results go
     * @param elements a number of whole vectors
     * @return the number of elements that were summed
     */
    int sum(long[] sources, long[] targets, int elements);
}
