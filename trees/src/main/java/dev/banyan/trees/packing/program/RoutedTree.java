package dev.banyan.trees.packing.program;

import dev.banyan.trees.internal.Column;
import java.util.Arrays;

/**
 * A tree with one path for each of its transfers: a column of the linear program. Immutable.
 */
final class RoutedTree implements Column {
    private final TreeShape shape;
    private final int[][] paths;
    private final int[] rows;
    private final int[] uses;

    /** Takes the cheapest path for every transfer. */
    RoutedTree(TreeShape shape, PricedPaths priced) {
        this.shape = shape;
        CapacityRows all = priced.rows();
        int transfers = (shape.ranks() - 1) * (all.areLinks() ? 1 : 2);
        paths = new int[transfers][];
        int[] used = new int[all.count()];
        int count = 0;
        for (int rank = 0; rank < shape.ranks(); rank++) {
            int up = shape.up(rank);
            if (up >= 0 && all.areLinks()) {
                route(count++, Math.min(rank, up), Math.max(rank, up), priced, used);
            } else if (up >= 0) {
                route(count++, rank, up, priced, used);
                route(count++, shape.down(rank), rank, priced, used);
            }
        }
        rows = new int[(int) Arrays.stream(used).filter(n -> n > 0).count()];
        uses = new int[rows.length];
        int next = 0;
        for (int row = 0; row < used.length; row++) {
            if (used[row] > 0) {
                rows[next] = row;
                uses[next++] = used[row];
            }
        }
    }

    private void route(int transfer, int a, int b, PricedPaths priced, int[] used) {
        paths[transfer] = priced.path(a, b);
        for (int arc : paths[transfer]) {
            used[priced.rows().ofArc(arc)]++;
        }
    }

    TreeShape shape() {
        return shape;
    }

    /**
     * Number of transfers that {@link #path} knows. Where rows are links these are one way only, from the
     * lesser rank to the greater; the same go back the same way.
     */
    int transfers() {
        return paths.length;
    }

    /** Arcs of a transfer's path, in order; not to be changed. */
    int[] path(int transfer) {
        return paths[transfer];
    }

    @Override
    public int rowsUsed() {
        return rows.length;
    }

    @Override
    public int row(int index) {
        return rows[index];
    }

    /** Returns the number of its transfers that cross a row. */
    @Override
    public int uses(int index) {
        return uses[index];
    }
}
