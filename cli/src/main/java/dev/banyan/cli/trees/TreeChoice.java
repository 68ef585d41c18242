package dev.banyan.cli.trees;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;
import java.util.Optional;

/** A way to build trees, as {@code --algorithm} names it. */
public enum TreeChoice {
    KERNIGHAN_LIN("kernighan-lin"),
    EXHAUSTIVE("exhaustive"),
    EXACT("exact"),
    /** Trees that share links by their bandwidths, not by weights. */
    PACKING("packing");

    private final String label;

    TreeChoice(String label) {
        this.label = label;
    }

    public String label() {
        return label;
    }

    /** A generator of this kind, where it goes by weights; the seed matters only where ties are broken by chance. */
    Optional<ForestGenerator> generator(double penalty, long seed) {
        return switch (this) {
            case KERNIGHAN_LIN -> Optional.of(new KernighanLin(penalty, seed));
            case EXHAUSTIVE -> Optional.of(new Exhaustive(penalty));
            case EXACT -> Optional.of(new Exact(penalty));
            case PACKING -> Optional.empty();
        };
    }

    /** Returns the choice of the configuration. */
    static TreeChoice of(Config config) {
        return config.get(Algorithms.TREE_BACKTRACK) ? EXACT : KERNIGHAN_LIN;
    }
}
