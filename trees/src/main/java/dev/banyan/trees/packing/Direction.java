package dev.banyan.trees.packing;

/** The direction of a collective's data along trees. */
public enum Direction {
    /** To the root: reduce, reduce_scatter. */
    UP,
    /** From the root: broadcast, all_gather. */
    DOWN,
    /** To the root, then from it: all_reduce. */
    UP_AND_DOWN;

    /** Returns whether data go to the root. */
    boolean goesUp() {
        return this != DOWN;
    }

    /** Returns whether data go from the root. */
    boolean goesDown() {
        return this != UP;
    }
}
