package dev.banyan.study.compare;

import dev.banyan.config.Config;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LinkLoads;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * A way to carry an allreduce between the devices of a machine, without relays.
 *
 * @param choice the algorithm
 */
record Contender(AlgorithmConfig choice) {
    String label() {
        return ChoiceText.name(choice);
    }

    /** Returns why it cannot be built for these devices, if it cannot. */
    Optional<String> refusal(ChosenMachine chosen) {
        return choice.trees() == TreeGenerator.EXACT && chosen.machine().size() > Exact.MAX_DEVICES
                ? Optional.of("at most " + Exact.MAX_DEVICES + " devices")
                : Optional.empty();
    }

    /** Returns the settings of all contenders. */
    static Config settings() {
        return Config.load().without(List.of(Algorithms.LOG_TREE));
    }

    /** Builds its trees, which takes the time of planning; the returned supplier rates them. */
    Supplier<WayFigures> build(ChosenMachine chosen, Config settings) {
        if (choice.algorithm() == AlgorithmChoice.PACKING) {
            TreePacking packing = AllReducePacking.of(chosen.network());
            return () -> WayFigures.of(packing);
        }
        Planner planner = Planner.ofNamed(chosen.machine(), settings);
        List<PackedTree> trees = planner.trees(choice, Collective.ALL_REDUCE, -1);
        return () -> {
            Network all = chosen.allLinks();
            LinkLoads loads = AlgorithmLoads.of(planner, choice, all);
            boolean usesOthers = IntStream.range(0, all.arcs())
                    .anyMatch(arc ->
                            !all.kind(arc).isNvLinkClass() && !loads.load(arc).equals(BigFraction.ZERO));
            return new WayFigures(
                    loads.rateGbs(),
                    trees.stream().mapToInt(PackedTree::depth).max().orElseThrow(),
                    number(trees.size(), chosen.machine().size()),
                    usesOthers);
        };
    }

    /** Returns the number of trees or rings: a ring has a tree that ends at each device, one-shot has none. */
    private @Nullable Integer number(int trees, int devices) {
        return switch (choice.algorithm()) {
            case RING -> trees / devices;
            case ONE_SHOT -> null;
            default -> trees;
        };
    }
}
