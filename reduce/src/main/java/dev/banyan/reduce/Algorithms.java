package dev.banyan.reduce;

import dev.banyan.reduce.algorithm.CollectiveAlgorithm;
import dev.banyan.reduce.algorithm.ForestAlgorithm;
import dev.banyan.reduce.algorithm.RingAlgorithm;
import dev.banyan.reduce.algorithm.StarAlgorithm;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.render.LevelText;
import dev.banyan.trees.render.TreeDrawing;
import dev.banyan.trees.ring.RingFinder;
import java.util.EnumMap;
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
    private final Map<AlgorithmChoice, CollectiveAlgorithm> made = new EnumMap<>(AlgorithmChoice.class);

    Algorithms(Machine machine, Config config) {
        this.machine = machine;
        this.config = config;
    }

    /**
     * What carries out a collective of so many elements; never {@link AlgorithmChoice#AUTO}.
     *
     * @param count elements, as the collective counts them
     */
    static AlgorithmChoice choose(Config config, long count) {
        if (config.algorithm() != AlgorithmChoice.AUTO) {
            return config.algorithm();
        }
        if (!config.useTree()) {
            return AlgorithmChoice.STAR;
        }
        return count > config.treeArrayBound() ? AlgorithmChoice.MULTI_TREE : AlgorithmChoice.SINGLE_TREE;
    }

    CollectiveAlgorithm get(AlgorithmChoice choice) {
        return made.computeIfAbsent(choice, this::make);
    }

    private CollectiveAlgorithm make(AlgorithmChoice choice) {
        return switch (choice) {
            case SINGLE_TREE -> new ForestAlgorithm(choice.label(), forest(0));
            case MULTI_TREE ->
                new ForestAlgorithm(choice.label(), forest(IntStream.range(0, machine.size()).toArray()));
            case RING -> new RingAlgorithm(RingFinder.order(LinkMatrix.of(machine)));
            case STAR -> new StarAlgorithm(machine.size());
            case AUTO -> throw new IllegalArgumentException("auto is no algorithm; choose one for the call first");
        };
    }

    private Forest forest(int... roots) {
        ForestGenerator generator = config.treeBacktrack()
                ? new Exact(config.linkUsagePenalty())
                : new KernighanLin(config.linkUsagePenalty(), config.seed());
        Forest forest = generator.generate(LinkMatrix.of(machine), roots);
        if (config.logTree()) {
            forest.trees().forEach(tree -> LOG.info(
                    "{} tree of {} from root {}: {}\n{}",
                    generator.name(),
                    machine.name(),
                    tree.root(),
                    LevelText.of(tree),
                    TreeDrawing.of(tree)));
        }
        return forest;
    }
}
