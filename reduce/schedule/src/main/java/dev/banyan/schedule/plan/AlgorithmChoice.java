package dev.banyan.schedule.plan;

/** The algorithm that runs collectives. */
public enum AlgorithmChoice {
    /** The algorithm that the planner chooses for each call. */
    AUTO("auto"),
    /** One tree for the whole array. */
    SINGLE_TREE("single-tree"),
    /** One tree per device, each for a slice of the array. */
    MULTI_TREE("multi-tree"),
    /** Trees packed into the machine's links, with a share of the array each. */
    PACKING("packing"),
    /** A ring. */
    RING("ring"),
    /** A star: one device sums and sends the result. */
    STAR("star"),
    /** Every device sends to all others and sums up all data itself, in one or two rounds. */
    ONE_SHOT("one-shot");

    private final String label;

    AlgorithmChoice(String label) {
        this.label = label;
    }

    /** Returns the name as the configuration and the command take it. */
    public String label() {
        return label;
    }
}
