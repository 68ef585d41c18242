package dev.banyan.schedule.plan;

import java.util.Arrays;
import java.util.List;

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
    /** The rings that carry most together, with a share of the array each. */
    RING("ring"),
    /** A star: one device sums and sends the result. */
    STAR("star"),
    /** Every device sends to all others and sums up all data itself, in one or two rounds. */
    ONE_SHOT("one-shot"),
    /** NVIDIA's NCCL, in place of a schedule. It runs on GPUs; the automatic choice takes it only if it is tuned to. */
    NCCL("nccl");

    private static final List<AlgorithmChoice> SCHEDULED = Arrays.stream(values())
            .filter(choice -> choice != AUTO && choice != NCCL)
            .toList();

    private final String label;

    AlgorithmChoice(String label) {
        this.label = label;
    }

    /** Returns the algorithms that make schedules: all but {@link #AUTO} and {@link #NCCL}. */
    public static List<AlgorithmChoice> scheduled() {
        return SCHEDULED;
    }

    /** Returns whether a {@link TreeGenerator} makes its trees. */
    public boolean generatesTrees() {
        return this == SINGLE_TREE || this == MULTI_TREE;
    }

    /** Returns the name as the configuration and the command take it. */
    public String label() {
        return label;
    }
}
