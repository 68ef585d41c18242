package dev.banyan.schedule.plan;

/** Which algorithm carries collectives out. */
public enum AlgorithmChoice {
    /** The fitting one for each call. */
    AUTO("auto"),
    /** One tree for the whole array. */
    SINGLE_TREE("single-tree"),
    /** One tree per device, each for a slice of the array. */
    MULTI_TREE("multi-tree"),
    /** Trees packed into the machine's links, with a share of the array each. */
    PACKING("packing"),
    /** Around a ring. */
    RING("ring"),
    /** Through one device. */
    STAR("star");

    private final String label;

    AlgorithmChoice(String label) {
        this.label = label;
    }

    /** Name as the configuration and the command take it. */
    public String label() {
        return label;
    }
}
