package dev.banyan.schedule.internal.algorithm;

/** The order in which a reduction combines the contributions to an element. */
enum SummationOrder {
    /** Along the tree that carries the element: partial results on the way. */
    OF_TREES,
    /** Rank 0's, rank 1's, ... in one step, whatever tree carries the element. */
    OF_RANKS
}
