package dev.banyan.schedule.plan;

import dev.banyan.config.Config;
import dev.banyan.config.Setting;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.OneShotAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.Packings;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.internal.render.LevelText;
import dev.banyan.trees.internal.render.TreeDrawing;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.TreePacking;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The algorithms of one machine. Each is made when it is first needed, and once. Not safe for use from several threads
 * at once.
 */
public final class Algorithms {
    /** Chooses sums of floating-point numbers whose bits depend on the contributions alone. */
    public static final Setting<Boolean> REPRODUCIBLE = Setting.flag(
            "BANYAN_REPRODUCIBLE",
            false,
            "Makes sums and means of floats depend on the numbers alone: not on their order, the size, the algorithm,"
                    + " the chunks, the fusion, the number of processes or the devices.");
    /** Makes single trees and multi-trees exact. */
    public static final Setting<Boolean> TREE_BACKTRACK = Setting.flag(
            "MXNET_KVSTORE_TREE_BACKTRACK",
            false,
            "Asks for trees of the greatest weight possible instead of Kernighan and Lin's.");
    /** The link usage penalty. */
    public static final Setting<Double> LINK_USAGE_PENALTY = Setting.of(
            "MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY",
            "a number above 0, at most 1",
            Algorithms::penalty,
            KernighanLin.DEFAULT_PENALTY,
            "Multiplies a link's weight when a tree uses the link, so that later trees avoid it.");
    /** The seed of tie-breaking. */
    public static final Setting<Long> SEED = Setting.of(
            "BANYAN_SEED",
            "a 64-bit integer",
            Long::valueOf,
            KernighanLin.DEFAULT_SEED,
            "Seeds the tie-breaking choices: the same seed gives the same trees.");

    /** Draws trees in the log. */
    public static final Setting<Boolean> LOG_TREE =
            Setting.flag("MXNET_KVSTORE_LOGTREE", false, "Draws new trees in the log.");

    private static final Logger LOG = LoggerFactory.getLogger(Algorithms.class);
    /** Apart from that of trees, as the command shows these warnings itself. */
    private static final Logger LINKS = LoggerFactory.getLogger(Network.class);

    private final Machine machine;
    private final Config config;
    /** By choices with an open length of chunks. */
    private final Map<AlgorithmConfig, TreeAlgorithm> made = new HashMap<>();

    private final IdentityHashMap<TreePacking, List<LogicalLink>> links = new IdentityHashMap<>();
    private @Nullable IntFunction<Packings> packings;

    Algorithms(Machine machine, Config config) {
        this.machine = machine;
        this.config = config;
    }

    private static double penalty(String text) {
        double factor = Double.parseDouble(text);
        if (factor > 0 && factor <= 1) {
            return factor;
        }
        throw new IllegalArgumentException("out of range");
    }

    TreeAlgorithm get(AlgorithmChoice choice) {
        return get(AlgorithmConfig.of(choice));
    }

    /** @param choice one of {@link AlgorithmChoice#scheduled} */
    TreeAlgorithm get(AlgorithmConfig choice) {
        return made.computeIfAbsent(choice.whole(), this::make);
    }

    /**
     * Returns the paths of an algorithm's transfers that differ from the usual paths, by the nodes of all links of the
     * machine.
     */
    List<LogicalLink> links(AlgorithmConfig choice, CollectiveRequest request) {
        if (!(get(choice) instanceof PackedAlgorithm packed)) {
            return List.of();
        }
        TreePacking packing = packed.packing(request.collective(), request.root());
        return packing.links().isEmpty()
                ? List.of()
                : links.computeIfAbsent(
                        packing,
                        made -> made.linksOn(Network.ofAllLinks(
                                machine, IntStream.range(0, machine.size()).toArray())));
    }

    private TreeAlgorithm make(AlgorithmConfig config) {
        AlgorithmChoice choice = config.algorithm();
        return switch (choice) {
            case SINGLE_TREE -> new ForestAlgorithm(choice.label(), forest(config.trees(), 0));
            case MULTI_TREE ->
                new ForestAlgorithm(
                        choice.label(),
                        forest(
                                config.trees(),
                                IntStream.range(0, machine.size()).toArray()));
            case PACKING ->
                // Without links there is nothing to pack trees into.
                machine.size() == 1
                        ? new ForestAlgorithm(choice.label(), Forest.equalShares(List.of(Tree.ofParents(-1))))
                        : new PackedAlgorithm(machine.size(), packings(config.maxTrees()));
            case RING -> RingAlgorithm.of(machine, config.maxTrees());
            case STAR -> new StarAlgorithm(machine.size());
            case ONE_SHOT -> new OneShotAlgorithm(LinkMatrix.of(machine));
            case AUTO -> throw new IllegalArgumentException("auto is no algorithm; choose one for the call first");
            case NCCL -> throw new IllegalArgumentException("nccl has no schedule; name another algorithm");
        };
    }

    private Packings packings(int maxTrees) {
        if (packings == null) {
            Network network = Network.of(machine);
            network.warnings().forEach(LINKS::warn);
            packings = Packings.byTrees(network);
        }
        Packings best = packings.apply(maxTrees);
        return !config.get(LOG_TREE)
                ? best
                : (collective, root) -> {
                    var packing = best.packing(collective, root);
                    packing.trees().forEach(tree -> {
                        log("packed " + collective.label(), tree.down());
                        if (!tree.up().equals(tree.down())) {
                            log("packed " + collective.label() + " (way up)", tree.up());
                        }
                    });
                    return packing;
                };
    }

    private Forest forest(@Nullable TreeGenerator named, int... roots) {
        ForestGenerator generator = Objects.requireNonNullElseGet(named, () -> TreeGenerator.of(config))
                .of(config.get(LINK_USAGE_PENALTY), config.get(SEED));
        Forest forest = generator.generate(LinkMatrix.of(machine), roots);
        if (config.get(LOG_TREE)) {
            forest.trees().forEach(tree -> log(generator.name(), tree));
        }
        return forest;
    }

    private void log(String kind, Tree tree) {
        LOG.info(
                "{} tree of {} from root {}: {}\n{}",
                kind,
                machine.name(),
                tree.root(),
                LevelText.of(tree),
                TreeDrawing.of(tree));
    }
}
