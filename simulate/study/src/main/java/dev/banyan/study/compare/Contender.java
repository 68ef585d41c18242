package dev.banyan.study.compare;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * A way to carry an allreduce between the devices of a machine, without relays.
 *
 * @param label the name of the algorithm, with the generator of its trees where there are several
 * @param exact whether trees have the greatest weight, instead of Kernighan and Lin's
 */
record Contender(String label, AlgorithmChoice algorithm, boolean exact) {
    /** All algorithms, multi-trees by both generators. */
    static final List<Contender> ALL = AlgorithmChoice.scheduled().stream()
            .flatMap(algorithm -> algorithm == AlgorithmChoice.MULTI_TREE
                    ? Stream.of(
                            new Contender("multi-tree (kernighan-lin)", algorithm, false),
                            new Contender("multi-tree (exact)", algorithm, true))
                    : Stream.of(of(algorithm)))
            .toList();

    static Contender of(AlgorithmChoice algorithm) {
        return new Contender(algorithm.label(), algorithm, false);
    }

    /** Returns why it cannot be built for these devices, if it cannot. */
    Optional<String> refusal(ChosenMachine chosen) {
        return exact && chosen.machine().size() > Exact.MAX_DEVICES
                ? Optional.of("at most " + Exact.MAX_DEVICES + " devices")
                : Optional.empty();
    }

    /** Builds its trees, which takes the time of planning; the returned supplier rates them. */
    Supplier<WayFigures> build(ChosenMachine chosen) {
        if (algorithm == AlgorithmChoice.PACKING) {
            TreePacking packing = AllReducePacking.of(chosen.network());
            return () -> WayFigures.of(packing);
        }
        Config config = Config.builder().set(Algorithms.TREE_BACKTRACK, exact).load();
        Planner planner = new Planner(chosen.machine(), config.without(List.of(Algorithms.LOG_TREE)), null);
        List<PackedTree> trees = planner.trees(AlgorithmConfig.of(algorithm), Collective.ALL_REDUCE, -1);
        return () -> new WayFigures(
                AlgorithmLoads.of(planner, algorithm, chosen.allLinks()).rateGbs(),
                trees.stream().mapToInt(PackedTree::depth).max().orElseThrow(),
                number(trees.size(), chosen.machine().size()));
    }

    /** Returns the number of trees or rings: a ring has a tree that ends at each device, one-shot a tree for each. */
    private int number(int trees, int devices) {
        return switch (algorithm) {
            case RING -> trees / devices;
            case ONE_SHOT -> devices;
            default -> trees;
        };
    }
}
