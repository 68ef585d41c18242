package dev.banyan.study.compare;

import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.Tree;
import dev.banyan.trees.balanced.Exact;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.packing.RatedForest;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import dev.banyan.trees.ring.RingSet;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/** A way to carry an allreduce between the devices of a machine, without relays. */
enum Contender {
    /** Balanced binary trees by Kernighan-Lin, one per root. */
    KERNIGHAN_LIN("multi-tree (kernighan-lin)") {
        @Override
        Supplier<WayFigures> build(ChosenMachine chosen) {
            return generate(new KernighanLin(), chosen);
        }
    },
    /** Balanced binary trees by dynamic programming, one per root. */
    EXACT("multi-tree (exact)") {
        @Override
        Optional<String> refusal(ChosenMachine chosen) {
            return chosen.machine().size() <= Exact.MAX_DEVICES
                    ? Optional.empty()
                    : Optional.of("at most " + Exact.MAX_DEVICES + " devices");
        }

        @Override
        Supplier<WayFigures> build(ChosenMachine chosen) {
            return generate(new Exact(), chosen);
        }
    },
    /** Trees that are packed into the links. */
    PACKING("packing") {
        @Override
        Supplier<WayFigures> build(ChosenMachine chosen) {
            TreePacking packing = AllReducePacking.of(chosen.network());
            return () -> WayFigures.of(packing);
        }
    },
    /** The best set of rings. */
    RINGS("ring (best set)") {
        @Override
        Optional<String> refusal(ChosenMachine chosen) {
            return RingSet.of(chosen.whole(), chosen.devices()).isPresent()
                    ? Optional.empty()
                    : Optional.of("no ring joins all devices");
        }

        @Override
        Supplier<WayFigures> build(ChosenMachine chosen) {
            RingSet rings = RingSet.of(chosen.whole(), chosen.devices()).orElseThrow();
            return () -> WayFigures.of(rings);
        }
    },
    /** All to one device and back, around the device where that is fastest. */
    STAR("star") {
        @Override
        Supplier<WayFigures> build(ChosenMachine chosen) {
            int n = chosen.machine().size();
            List<Forest> stars = IntStream.range(0, n)
                    .mapToObj(root -> {
                        int[] parents = new int[n];
                        Arrays.fill(parents, root);
                        parents[root] = -1;
                        return Forest.equalShares(List.of(Tree.ofParents(parents)));
                    })
                    .toList();
            return () -> stars.stream()
                    .map(star -> rate(star, chosen))
                    .max(Comparator.comparing(WayFigures::rateGbs))
                    .orElseThrow();
        }
    };

    private final String label;

    Contender(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    /** Why it can't be built for these devices, if it can't. */
    Optional<String> refusal(ChosenMachine chosen) {
        return Optional.empty();
    }

    /** Builds it, which is what takes time; what comes back looks how fast it is. */
    abstract Supplier<WayFigures> build(ChosenMachine chosen);

    private static Supplier<WayFigures> generate(ForestGenerator generator, ChosenMachine chosen) {
        LinkMatrix links = chosen.links();
        Forest forest =
                generator.generate(links, IntStream.range(0, links.size()).toArray());
        return () -> rate(forest, chosen);
    }

    private static WayFigures rate(Forest forest, ChosenMachine chosen) {
        BigFraction rate = RatedForest.rateGbs(forest, chosen.network())
                .or(() -> RatedForest.rateGbs(forest, chosen.allLinks()))
                .orElseThrow(() -> new IllegalStateException("some devices have no path to each other"));
        int depth = forest.trees().stream().mapToInt(Tree::depth).max().orElseThrow();
        return new WayFigures(rate, depth, forest.trees().size());
    }
}
