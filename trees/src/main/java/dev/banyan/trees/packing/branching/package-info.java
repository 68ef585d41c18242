/** Packings for broadcast, reduce, allgather and reduce-scatter: arborescences, after edge splitting. */
@NullMarked
package dev.banyan.trees.packing.branching;

import org.jspecify.annotations.NullMarked;
