package dev.banyan.study.export;

import dev.banyan.config.Config;
import dev.banyan.export.mscclpp.ChunkedTrees;
import dev.banyan.export.mscclpp.MscclppPlan;
import dev.banyan.export.mscclpp.PlanTrace;
import dev.banyan.export.mscclpp.PlanWriter;
import dev.banyan.export.mscclpp.TreeCompiler;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import dev.banyan.topology.NoPeerAccess;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.util.List;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * A plan for MSCCL++ and what to expect of it.
 *
 * @param algorithm name of the algorithm
 * @param plan the plan, proven
 * @param depth greatest number of hops between a root and a rank
 * @param exact rate of the trees with exact shares, as algbw in GB/s
 * @param rate the same with whole chunks
 * @param chunks number of equal chunks
 */
public record MscclppExport(
        String algorithm, MscclppPlan plan, int depth, BigFraction exact, BigFraction rate, int chunks) {
    private static final int LONGEST_NAME = 40;

    /**
     * Makes and proves a plan.
     *
     * @param root the root of a broadcast, else -1
     * @throws IllegalArgumentException if the executor's limits exclude it, or devices lack peer access for it
     */
    public static MscclppExport of(
            ChosenMachine chosen, AlgorithmConfig choice, Collective collective, int root, boolean inPlace) {
        List<PackedTree> trees;
        Network network;
        List<LogicalLink> links;
        if (choice.algorithm() == AlgorithmChoice.PACKING) {
            PackedAlgorithm packed = new PackedAlgorithm(chosen.network());
            TreePacking packing = packed.packing(collective, root);
            trees = packed.trees(collective, root);
            network = packing.network();
            links = packing.links();
        } else {
            trees = Planner.ofNamed(chosen.machine(), Config.load()).trees(choice, collective, root);
            network = chosen.allLinks();
            links = List.of();
        }
        requirePeerAccess(chosen.machine(), trees);
        ChunkedTrees rounded = ChunkedTrees.of(collective, trees, network, links);
        String name = "banyan-"
                + chosen.machine()
                        .name()
                        .replaceAll("[^A-Za-z0-9]", "-")
                        .replaceFirst("(.{" + LONGEST_NAME + "}).*", "$1")
                + "-" + choice.algorithm().label() + "-" + collective.label() + (root < 0 ? "" : "-" + root)
                + (inPlace ? "" : "-out");
        MscclppPlan plan = TreeCompiler.compile(name, rounded, inPlace);
        MscclppPlan unique = new MscclppPlan(
                name + "-" + Integer.toHexString(PlanWriter.write(plan).hashCode()),
                plan.collective(),
                inPlace,
                plan.minBytes(),
                plan.maxBytes(),
                plan.gpus());
        PlanTrace.schedule(name, unique);
        return new MscclppExport(
                choice.algorithm().label(),
                unique,
                trees.stream().mapToInt(PackedTree::depth).max().orElseThrow(),
                ChunkedTrees.rate(collective, trees, network, links),
                rounded.rate(network, links),
                rounded.chunks());
    }

    private static void requirePeerAccess(Machine machine, List<PackedTree> trees) {
        for (PackedTree tree : trees) {
            for (Tree way : List.of(tree.up(), tree.down())) {
                for (int[] edge : way.edges()) {
                    if (NoPeerAccess.between(machine, edge[0], edge[1])) {
                        throw new IllegalArgumentException("MSCCL++ needs peer access, and "
                                + machine.devices().get(edge[0]).name() + " and "
                                + machine.devices().get(edge[1]).name()
                                + " have none; let NCCL carry the calls, which goes through the host's memory, or name"
                                + " other GPUs by --devices");
                    }
                }
            }
        }
    }

    /** Returns the plan's file. */
    public String file() {
        return PlanWriter.write(plan);
    }

    /** Returns what the plan does. */
    public String remark() {
        String loss = exact.equals(rate)
                ? ""
                : Numbers.format(
                        "; %d equal chunks lose %.1f%%",
                        chunks, 100 * (1 - rate.divide(exact).doubleValue()));
        return plan.name() + ": " + algorithm + ", " + Numbers.gbs(rate) + " algbw by the links, trees of depth "
                + depth + loss + "; for calls of " + new ByteSize(plan.minBytes()).label() + " to "
                + new ByteSize(plan.maxBytes()).label() + " that are multiples of "
                + Numbers.count(plan.minBytes(), "byte")
                + (plan.collective().reduces()
                        ? ", sums alone (AVG, MIN and MAX would be wrong, without an error)"
                        : "");
    }
}
