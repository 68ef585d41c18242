package dev.banyan.trees.ring;

import dev.banyan.trees.internal.Column;
import java.util.List;
import java.util.stream.IntStream;

/** A ring with the arcs that it crosses, both ways together. Immutable. */
final class RingColumn implements Column {
    private final List<Integer> order;
    private final int[] uses;
    private final int[] rows;

    /** @param uses by arc: how many times the ring crosses it */
    RingColumn(List<Integer> order, int[] uses) {
        this.order = order;
        this.uses = uses;
        rows = IntStream.range(0, uses.length).filter(arc -> uses[arc] > 0).toArray();
    }

    /** Returns the ranks in the order of the ring. */
    List<Integer> order() {
        return order;
    }

    @Override
    public int rowsUsed() {
        return rows.length;
    }

    @Override
    public int row(int index) {
        return rows[index];
    }

    @Override
    public int uses(int index) {
        return uses[rows[index]];
    }
}
