package dev.banyan.cli;

import dev.banyan.cli.input.NamedConverter;
import dev.banyan.reduce.Config;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;

/** A way to build trees, as {@code --algorithm} names it. */
enum TreeAlgorithm {
    KERNIGHAN_LIN("kernighan-lin") {
        @Override
        ForestGenerator generator(double penalty, long seed) {
            return new KernighanLin(penalty, seed);
        }
    },
    EXHAUSTIVE("exhaustive") {
        @Override
        ForestGenerator generator(double penalty, long seed) {
            return new Exhaustive(penalty);
        }
    },
    EXACT("exact") {
        @Override
        ForestGenerator generator(double penalty, long seed) {
            return new Exact(penalty);
        }
    };

    private final String label;

    TreeAlgorithm(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    /** A generator of this kind; the seed matters only where ties are broken by chance. */
    abstract ForestGenerator generator(double penalty, long seed);

    /** What the configuration asks for. */
    static TreeAlgorithm of(Config config) {
        return config.treeBacktrack() ? EXACT : KERNIGHAN_LIN;
    }

    /** For picocli. */
    static final class Converter extends NamedConverter<TreeAlgorithm> {
        Converter() {
            super("tree algorithm", byName(values(), TreeAlgorithm::label));
        }
    }
}
