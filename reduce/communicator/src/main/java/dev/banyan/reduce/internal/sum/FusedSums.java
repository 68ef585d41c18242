package dev.banyan.reduce.internal.sum;

import dev.banyan.reduce.backend.Executable;

/** A backend that computes reproducible sums in one pass over the memory of all ranks. */
public interface FusedSums {
    /** Prepares a reduction. It allocates the scratch memory once. */
    Executable prepare(SumRequest request);
}
