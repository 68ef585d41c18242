package dev.banyan.study.measured;

/**
 * One figure for each ordered pair of devices. Immutable and safe for use from any thread.
 */
final class PairMatrix {
    private final double[][] rows;

    /** @param rows the first rows of an n x n matrix, n entries each */
    PairMatrix(double[][] rows) {
        this.rows = rows;
    }

    /** Number of devices, n. */
    int size() {
        return rows[0].length;
    }

    /** Number of rows that are there; the rest of the matrix was not reported. */
    int rows() {
        return rows.length;
    }

    /**
     * The figure of a pair.
     *
     * @param row 0..{@link #rows()}-1
     * @param column 0..{@link #size()}-1; the row itself for what a device does within its own memory
     */
    double get(int row, int column) {
        return rows[row][column];
    }
}
