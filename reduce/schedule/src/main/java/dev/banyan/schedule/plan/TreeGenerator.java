package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.balanced.Shallow;

/** The generator of the trees of {@link AlgorithmChoice#SINGLE_TREE} and {@link AlgorithmChoice#MULTI_TREE}. */
public enum TreeGenerator {
    /** Heavy trees by exchanges of pairs, for any number of devices: {@link KernighanLin}. */
    KERNIGHAN_LIN("kernighan-lin"),
    /** Trees of the greatest weight, one by one: {@link Exact}. */
    EXACT("exact"),
    /** The same by backtracking, for comparison: {@link Exhaustive}. */
    EXHAUSTIVE("exhaustive"),
    /** Trees of the least depth: {@link Shallow}. */
    SHALLOW("shallow");

    private final String label;

    TreeGenerator(String label) {
        this.label = label;
    }

    /** Returns the name as the configuration and the command take it. */
    public String label() {
        return label;
    }

    /**
     * Returns the generator.
     *
     * @param penalty factor on the weight of a link that a tree uses, above 0 and at most 1
     * @param seed breaks ties, where chance does
     */
    public ForestGenerator of(double penalty, long seed) {
        return switch (this) {
            case KERNIGHAN_LIN -> new KernighanLin(penalty, seed);
            case EXACT -> new Exact(penalty);
            case EXHAUSTIVE -> new Exhaustive(penalty);
            case SHALLOW -> new Shallow(penalty);
        };
    }

    /** Returns the generator that a configuration names by {@link Algorithms#TREE_BACKTRACK}. */
    public static TreeGenerator of(Config config) {
        return config.get(Algorithms.TREE_BACKTRACK) ? EXACT : KERNIGHAN_LIN;
    }
}
