package dev.banyan.simulate.internal.rate;

/** The begins of groups in an array that lists the members of one group after another. */
public final class Starts {
    private Starts() {}

    /**
     * Returns where each group begins, and the end of the last.
     *
     * @param groups the group of each member
     * @param count number of members that count, the first ones
     * @param size number of groups
     */
    public static int[] of(int[] groups, int count, int size) {
        int[] starts = new int[size + 1];
        for (int i = 0; i < count; i++) {
            starts[groups[i] + 1]++;
        }
        for (int group = 0; group < size; group++) {
            starts[group + 1] += starts[group];
        }
        return starts;
    }
}
