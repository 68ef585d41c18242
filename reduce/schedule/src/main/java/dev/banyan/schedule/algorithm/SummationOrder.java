package dev.banyan.schedule.algorithm;

/** In which order a reduction's contributions to an element are combined. */
enum SummationOrder {
    /** Along the tree that carries the element: partial results on the way. */
    OF_TREES,
    /** Rank 0's, rank 1's, ... in one step, whatever tree carries the element. */
    OF_RANKS
}
