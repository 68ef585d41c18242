package dev.banyan.cli.export;

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
record MscclppExport(String algorithm, MscclppPlan plan, int depth, BigFraction exact, BigFraction rate, int chunks) {
    private static final int LONGEST_NAME = 40;
    /** A hop between thread blocks of two GPUs, assumed: a flag and the latency of a unit. */
    private static final double HOP_US = 5;

    private static final long LEAST_CROSSOVER = 64 << 10;

    /** The values of {@code --algorithm}. */
    enum Algorithm {
        SINGLE_TREE(AlgorithmChoice.SINGLE_TREE),
        MULTI_TREE(AlgorithmChoice.MULTI_TREE),
        PACKING(AlgorithmChoice.PACKING),
        RING(AlgorithmChoice.RING);

        private final AlgorithmChoice choice;

        Algorithm(AlgorithmChoice choice) {
            this.choice = choice;
        }

        AlgorithmChoice choice() {
            return choice;
        }

        String label() {
            return choice.label();
        }
    }

    /**
     * Makes and proves a plan.
     *
     * @param root the root of a broadcast, else -1
     * @throws IllegalArgumentException if the executor's limits exclude it
     */
    static MscclppExport of(
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
            trees = new Planner(chosen.machine(), Config.load(), null).trees(choice, collective, root);
            network = chosen.allLinks();
            links = List.of();
        }
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

    /** Returns the plan's file. */
    String file() {
        return PlanWriter.write(plan);
    }

    /** Returns what the plan does. */
    String remark() {
        String loss = exact.equals(rate)
                ? ""
                : Numbers.format(
                        "; %d equal chunks lose %.1f%%",
                        chunks, 100 * (1 - rate.divide(exact).doubleValue()));
        return plan.name() + ": " + algorithm + ", " + Numbers.gbs(rate) + " algbw by the links, trees of depth "
                + depth + loss + "; for calls of " + new ByteSize(plan.minBytes()).label() + " to "
                + new ByteSize(plan.maxBytes()).label() + " that are multiples of "
                + Numbers.count(plan.minBytes(), "byte") + ", sums alone";
    }

    /** Returns the size in bytes, a power of two, from which the second plan is predicted to be faster. */
    static long crossover(MscclppExport small, MscclppExport large) {
        double us = 2 * HOP_US * Math.max(1, large.depth - small.depth);
        double perByte = 1 / small.rate.doubleValue() - 1 / large.rate.doubleValue();
        return Long.highestOneBit(Math.max(LEAST_CROSSOVER, (long) (us * 1e3 / perByte)));
    }

    /** Returns Python that registers plans by size; the last plan that fits a size is taken. */
    static String selector(List<MscclppExport> plans, List<Long> from) {
        StringBuilder text = new StringBuilder("""
            # Call register(rank) in each process before torch.distributed.init_process_group, and start with
            # LD_PRELOAD=libmscclpp_nccl.so MSCCLPP_NCCL_LIB_PATH=libnccl.so.2 (both with their full paths).
            import os
            import mscclpp
            import mscclpp.ext

            FOLDER = os.path.dirname(os.path.abspath(__file__))
            PLANS = [  # file, name, collective, least bytes, most bytes, bytes of which calls are multiples
            """);
        for (int i = 0; i < plans.size(); i++) {
            MscclppPlan plan = plans.get(i).plan();
            text.append(Numbers.format(
                    "    (\"%s.json\", \"%s\", \"%s\", %d, %d, %d),%n",
                    plans.get(i).algorithm(),
                    plan.name(),
                    PlanWriter.label(plan.collective()),
                    Math.max(plan.minBytes(), from.get(i)),
                    plan.maxBytes(),
                    plan.minBytes()));
        }
        return text.append(Numbers.format("""
            ]


            def register(rank):
                builder = mscclpp.ext.AlgorithmCollectionBuilder()
                for file, name, *_ in PLANS:
                    plan = mscclpp.ExecutionPlan(os.path.join(FOLDER, file), rank)
                    builder.add_algorithm_builder(mscclpp.Algorithm(id=name, execution_plan=plan))

                def select(algorithms, request):
                    for _, name, collective, least, most, grain in reversed(PLANS):
                        size = request.message_size
                        if (request.collective == collective and request.world_size == %d
                                and least <= size <= most and size %% grain == 0):
                            return algorithms[collective][name]
                    return None

                builder.set_algorithm_selector(select)
            """, plans.getFirst().plan().gpus().size()))
                .toString();
    }
}
