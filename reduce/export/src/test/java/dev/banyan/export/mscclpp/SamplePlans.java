package dev.banyan.export.mscclpp;

import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.TreeAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.trees.balanced.KernighanLin;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import dev.banyan.trees.ring.RingFinder;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Plans of every algorithm and collective. */
final class SamplePlans {
    static final List<Collective> COLLECTIVES =
            List.of(Collective.ALL_REDUCE, Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.BROADCAST);

    /**
     * A plan.
     *
     * @param label the machine, the algorithm, the collective and the place
     * @param trees its trees
     * @param root the root of a broadcast, or -1
     */
    record Sample(String label, ChunkedTrees trees, int root, MscclppPlan plan) {}

    private SamplePlans() {}

    static List<Machine> machines() {
        return Presets.all().stream().filter(machine -> machine.size() <= 16).toList();
    }

    static List<TreeAlgorithm> algorithms(Machine machine) {
        LinkMatrix links = LinkMatrix.of(machine);
        KernighanLin generator = new KernighanLin();
        return List.of(
                new ForestAlgorithm("single-tree", generator.generate(links, 0)),
                new ForestAlgorithm(
                        "multi-tree",
                        generator.generate(
                                links, IntStream.range(0, machine.size()).toArray())),
                new PackedAlgorithm(Network.of(machine)),
                new RingAlgorithm(RingFinder.order(links)));
    }

    /** Hands out all plans of a machine; those that the executor's limits exclude go to the other consumer. */
    static void forEach(Machine machine, Consumer<Sample> plans, Consumer<String> refusals) {
        for (TreeAlgorithm algorithm : algorithms(machine)) {
            for (Collective collective : COLLECTIVES) {
                int root = collective.hasRoot() ? machine.size() - 1 : -1;
                String label = machine.name() + " " + algorithm.name() + " " + collective.label();
                ChunkedTrees trees = rounded(machine, algorithm, collective, root);
                for (boolean inPlace : new boolean[] {false, true}) {
                    MscclppPlan plan;
                    try {
                        plan = TreeCompiler.compile("plan", trees, inPlace);
                    } catch (IllegalArgumentException e) {
                        refusals.accept(label + ": " + e.getMessage());
                        break;
                    }
                    plans.accept(new Sample(label + (inPlace ? " in place" : ""), trees, root, plan));
                }
            }
        }
    }

    static ChunkedTrees rounded(Machine machine, TreeAlgorithm algorithm, Collective collective, int root) {
        List<PackedTree> trees = algorithm.trees(collective, root);
        if (algorithm instanceof PackedAlgorithm packed) {
            TreePacking packing = packed.packing(collective, root);
            return ChunkedTrees.of(collective, trees, packing.network(), packing.links());
        }
        Network all =
                Network.ofAllLinks(machine, IntStream.range(0, machine.size()).toArray());
        return ChunkedTrees.of(collective, trees, all, List.of());
    }
}
