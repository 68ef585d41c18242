package dev.banyan.reduce;

import dev.banyan.reduce.algorithm.CollectiveAlgorithm;
import dev.banyan.reduce.algorithm.CollectiveRequest;
import dev.banyan.reduce.algorithm.ForestAlgorithm;
import dev.banyan.reduce.algorithm.PackedAlgorithm;
import dev.banyan.reduce.algorithm.Packings;
import dev.banyan.reduce.algorithm.RankOrderAlgorithm;
import dev.banyan.reduce.algorithm.RingAlgorithm;
import dev.banyan.reduce.algorithm.StarAlgorithm;
import dev.banyan.reduce.algorithm.TreeAlgorithm;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.render.LevelText;
import dev.banyan.trees.render.TreeDrawing;
import dev.banyan.trees.ring.RingFinder;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The algorithms of one machine. Each is made when it is first needed, and once. Not safe for use from
 * several threads at once.
 */
final class Algorithms {
    private static final Logger LOG = LoggerFactory.getLogger(Algorithms.class);

    private final Machine machine;
    private final Config config;
    private final Prices prices;
    private final Map<AlgorithmChoice, TreeAlgorithm> made = new EnumMap<>(AlgorithmChoice.class);

    Algorithms(Machine machine, Config config) {
        this.machine = machine;
        this.config = config;
        prices = new Prices(machine, this::get);
    }

    /** What carries out a request. */
    CollectiveAlgorithm of(CollectiveRequest request) {
        return of(request, Way.CONFIGURED);
    }

    /** What carries out a request in a given way. */
    CollectiveAlgorithm of(CollectiveRequest request, Way way) {
        AlgorithmChoice choice = way.algorithm() == AlgorithmChoice.AUTO ? choose(request) : way.algorithm();
        TreeAlgorithm algorithm = choice == AlgorithmChoice.STAR && way.centre() != 0
                ? new StarAlgorithm(machine.size(), way.centre())
                : get(choice);
        return config.reproducible() ? new RankOrderAlgorithm(algorithm) : algorithm;
    }

    /** Which algorithm carries out a request; never {@link AlgorithmChoice#AUTO}. */
    AlgorithmChoice choose(CollectiveRequest request) {
        if (config.algorithm() != AlgorithmChoice.AUTO) {
            return config.algorithm();
        }
        if (!config.useTree()) {
            return AlgorithmChoice.STAR;
        }
        return request.count() > config.treeArrayBound() && machine.size() > 1
                ? prices.cheapest(request)
                : AlgorithmChoice.SINGLE_TREE;
    }

    private TreeAlgorithm get(AlgorithmChoice choice) {
        return made.computeIfAbsent(choice, this::make);
    }

    private TreeAlgorithm make(AlgorithmChoice choice) {
        return switch (choice) {
            case SINGLE_TREE -> new ForestAlgorithm(choice.label(), forest(0));
            case MULTI_TREE ->
                new ForestAlgorithm(choice.label(), forest(IntStream.range(0, machine.size()).toArray()));
            case PACKING ->
                // Nothing can be packed into no link.
                machine.size() == 1
                        ? new ForestAlgorithm(choice.label(), Forest.equalShares(List.of(Tree.ofParents(-1))))
                        : new PackedAlgorithm(machine.size(), packings());
            case RING -> new RingAlgorithm(RingFinder.order(LinkMatrix.of(machine)));
            case STAR -> new StarAlgorithm(machine.size());
            case AUTO -> throw new IllegalArgumentException("auto is no algorithm; choose one for the call first");
        };
    }

    private Packings packings() {
        Network network = Network.of(machine);
        network.warnings().forEach(LOG::warn);
        Packings best = Packings.best(network);
        return !config.logTree() ? best : (collective, root) -> {
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

    private Forest forest(int... roots) {
        ForestGenerator generator = config.treeBacktrack()
                ? new Exact(config.linkUsagePenalty())
                : new KernighanLin(config.linkUsagePenalty(), config.seed());
        Forest forest = generator.generate(LinkMatrix.of(machine), roots);
        if (config.logTree()) {
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
