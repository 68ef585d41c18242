package dev.banyan.trees.internal;

/** A tree or a ring that loads wires, of which a packing takes an amount. */
public interface Column {
    /** Returns how many different wires it loads. */
    int wiresUsed();

    /**
     * Returns a wire that it loads; they ascend.
     *
     * @param index 0 to {@link #wiresUsed()} - 1
     */
    int wire(int index);

    /** Returns how many times its amount it loads that wire. */
    int uses(int index);

    /** Returns the sum of the prices of all wires that it loads. */
    default double cost(double[] prices) {
        double sum = 0;
        for (int i = 0; i < wiresUsed(); i++) {
            sum += uses(i) * prices[wire(i)];
        }
        return sum;
    }
}
