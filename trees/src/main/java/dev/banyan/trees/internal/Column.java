package dev.banyan.trees.internal;

/** A tree or a ring that loads rows, of which a packing takes an amount. */
public interface Column {
    /** Returns how many different rows it loads. */
    int rowsUsed();

    /**
     * Returns a row that it loads; they ascend.
     *
     * @param index 0 to {@link #rowsUsed()} - 1
     */
    int row(int index);

    /** Returns how many times its amount it loads that row. */
    int uses(int index);

    /** Returns the sum of the prices of all rows that it loads. */
    default double cost(double[] prices) {
        double sum = 0;
        for (int i = 0; i < rowsUsed(); i++) {
            sum += uses(i) * prices[row(i)];
        }
        return sum;
    }
}
