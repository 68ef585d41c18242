package dev.banyan.cli;

import dev.banyan.cli.input.NamedConverter;
import dev.banyan.reduce.Config;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.Exhaustive;
import dev.banyan.trees.balanced.KernighanLin;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A way to build trees, as {@code --algorithm} names it. */
enum TreeAlgorithm {
    KERNIGHAN_LIN("kernighan-lin", KernighanLin::new),
    EXHAUSTIVE("exhaustive", (penalty, seed) -> new Exhaustive(penalty)),
    EXACT("exact", (penalty, seed) -> new Exact(penalty)),
    /** Trees that share wires by their bandwidths, not by weights. */
    PACKING("packing", null);

    private final String label;
    private final @Nullable Maker maker;

    /** Makes generators. */
    private interface Maker {
        ForestGenerator make(double penalty, long seed);
    }

    TreeAlgorithm(String label, @Nullable Maker maker) {
        this.label = label;
        this.maker = maker;
    }

    String label() {
        return label;
    }

    /** A generator of this kind, where it goes by weights; the seed matters only where ties are broken by chance. */
    Optional<ForestGenerator> generator(double penalty, long seed) {
        return Optional.ofNullable(maker).map(known -> known.make(penalty, seed));
    }

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
