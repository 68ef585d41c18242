package dev.banyan.cli.input;

import dev.banyan.cli.output.OptionGroup;
import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.study.machine.Variants;
import java.util.Collection;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** The options that choose variants of algorithms: the generator of trees, and the number of rings. */
public final class VariantOptions extends OptionGroup {
    @Option(
            names = "--trees",
            paramLabel = "NAME",
            description =
                    "Generator of single-tree and multi-tree: kernighan-lin, exact, exhaustive or shallow (default:"
                            + " kernighan-lin, or exact where MXNET_KVSTORE_TREE_BACKTRACK=1).")
    private @Nullable TreeGenerator trees;

    @Option(
            names = "--rings",
            paramLabel = "N",
            description = "The most rings of the algorithm ring, each one way around (default: as many as carry most).")
    private @Nullable Integer rings;

    /** Returns whether a variant was named. */
    public boolean given() {
        return trees != null || rings != null;
    }

    /** Returns whether a generator of trees was named. */
    public boolean namesTrees() {
        return trees != null;
    }

    /**
     * Returns the variants that the user asks for, or else those of the configuration.
     *
     * @param algorithms the algorithms that run
     * @throws ParameterException if an option has no meaning for them
     */
    public Variants of(Collection<AlgorithmChoice> algorithms) {
        Variants named = named(algorithms);
        return new Variants(Objects.requireNonNullElse(trees, TreeGenerator.of(Config.load())), named.rings());
    }

    /**
     * Returns the variants that the user asks for; the generator stays open if none is named.
     *
     * @param algorithms the algorithms that run
     * @throws ParameterException if an option has no meaning for them
     */
    public Variants named(Collection<AlgorithmChoice> algorithms) {
        require(rings == null || rings > 0, "--rings is " + rings + "; it must be at least 1");
        require(rings == null || algorithms.contains(AlgorithmChoice.RING), "--rings goes with -a ring");
        require(
                trees == null || algorithms.stream().anyMatch(AlgorithmChoice::generatesTrees),
                "--trees goes with -a single-tree or multi-tree");
        return new Variants(trees, Objects.requireNonNullElse(rings, Integer.MAX_VALUE));
    }
}
