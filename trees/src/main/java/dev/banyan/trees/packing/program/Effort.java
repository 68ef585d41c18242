package dev.banyan.trees.packing.program;

/** Elementary operations that a search may still take; counted, not timed, so that results repeat. */
final class Effort {
    private long left;

    Effort(long operations) {
        left = operations;
    }

    /** Takes operations; whether there were any left before. */
    boolean spend(long operations) {
        boolean any = left > 0;
        left -= operations;
        return any;
    }

    long left() {
        return Math.max(0, left);
    }

    boolean isLeft() {
        return left > 0;
    }
}
