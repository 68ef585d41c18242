package dev.banyan.cli.trees;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.balanced.Shallow;

/** A generator of trees, as {@code --trees} names it. */
public enum TreeChoice {
    KERNIGHAN_LIN("kernighan-lin"),
    EXACT("exact"),
    EXHAUSTIVE("exhaustive"),
    SHALLOW("shallow");

    private final String label;

    TreeChoice(String label) {
        this.label = label;
    }

    public String label() {
        return label;
    }

    /** Returns the generator; the seed matters only where ties are broken by chance. */
    ForestGenerator generator(double penalty, long seed) {
        return switch (this) {
            case KERNIGHAN_LIN -> new KernighanLin(penalty, seed);
            case EXACT -> new Exact(penalty);
            case EXHAUSTIVE -> new Exhaustive(penalty);
            case SHALLOW -> new Shallow(penalty);
        };
    }

    /** Returns the choice of the configuration. */
    static TreeChoice of(Config config) {
        return config.get(Algorithms.TREE_BACKTRACK) ? EXACT : KERNIGHAN_LIN;
    }
}
