package dev.banyan.study.export;

import dev.banyan.export.mscclpp.MscclppPlan;
import dev.banyan.export.mscclpp.PlanWriter;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.Numbers;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Plans for MSCCL++ that share the sizes of calls: a single tree for small calls, and the fastest plan for large ones.
 * Where the trees of the fastest plan are less deep it takes all calls that it fits, and the single tree the others.
 * NCCL carries calls that the plan of their size does not fit.
 *
 * @param plans one or two
 * @param leastBytes the size in bytes from which each plan is taken
 * @param leftOut algorithms without a plan, each with the reason
 */
public record MscclppPlans(List<MscclppExport> plans, List<Long> leastBytes, List<String> leftOut) {
    /** A hop between thread blocks of two GPUs, assumed: a flag and the latency of a unit. */
    private static final double HOP_US = 5;

    private static final long LEAST_CROSSOVER = 64 << 10;

    /**
     * Makes and proves the plans.
     *
     * @param root the root of a broadcast, else -1
     * @throws IllegalArgumentException if no algorithm has a plan
     */
    public static MscclppPlans of(
            ChosenMachine chosen, Variants variants, Collective collective, int root, boolean inPlace) {
        List<String> leftOut = new ArrayList<>();
        MscclppExport small = null;
        MscclppExport large = null;
        IllegalArgumentException first = null;
        for (AlgorithmChoice candidate : List.of(
                AlgorithmChoice.SINGLE_TREE,
                AlgorithmChoice.PACKING,
                AlgorithmChoice.MULTI_TREE,
                AlgorithmChoice.RING)) {
            try {
                MscclppExport plan = MscclppExport.of(chosen, variants.of(candidate), collective, root, inPlace);
                if (candidate == AlgorithmChoice.SINGLE_TREE) {
                    small = plan;
                }
                large = large == null || isFaster(plan, large) ? plan : large;
            } catch (IllegalArgumentException e) {
                first = first == null ? e : first;
                leftOut.add(candidate.label() + " is left out: " + e.getMessage());
            }
        }
        if (large == null) {
            throw Objects.requireNonNull(first);
        }
        if (small == null) {
            return new MscclppPlans(List.of(large), List.of(0L), leftOut);
        }
        if (large.depth() < small.depth()) {
            return new MscclppPlans(List.of(large, small), List.of(0L, 0L), leftOut);
        }
        return isFaster(large, small)
                ? new MscclppPlans(List.of(small, large), List.of(0L, crossover(small, large)), leftOut)
                : new MscclppPlans(List.of(small), List.of(0L), leftOut);
    }

    private static boolean isFaster(MscclppExport plan, MscclppExport other) {
        return plan.rate().compareTo(other.rate()) > 0;
    }

    /** Returns the size in bytes, a power of two, from which the second plan is predicted to be faster. */
    private static long crossover(MscclppExport small, MscclppExport large) {
        double us = 2 * HOP_US * Math.max(1, large.depth() - small.depth());
        double perByte = 1 / small.rate().doubleValue() - 1 / large.rate().doubleValue();
        return Long.highestOneBit(Math.max(LEAST_CROSSOVER, (long) (us * 1e3 / perByte)));
    }

    /** Returns the rate of the fastest plan by the links, as algbw in GB/s. */
    public double rateGbs() {
        return plans.stream()
                .mapToDouble(plan -> plan.rate().doubleValue())
                .max()
                .orElseThrow();
    }

    private long mostBytes(int plan) {
        long fitting = plans.get(plan).plan().maxBytes();
        return plan + 1 < plans.size() && leastBytes.get(plan + 1) > leastBytes.get(plan)
                ? Math.min(fitting, leastBytes.get(plan + 1) - 1)
                : fitting;
    }

    /** Returns Python that registers the plans by size. */
    public String selector() {
        StringBuilder text = new StringBuilder("""
            # Call register(rank) in each process before torch.distributed.init_process_group, and start with
            # LD_PRELOAD=libmscclpp_nccl.so MSCCLPP_NCCL_LIB_PATH=libnccl.so.2 (both with their full paths; on AMD's
            # GPUs MSCCLPP_NCCL_LIB_PATH=librccl.so).
            # Every reduction is a sum: AVG, MIN and MAX would be wrong, without an error.
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
                    Math.max(plan.minBytes(), leastBytes.get(i)),
                    mostBytes(i),
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
                    for _, name, collective, least, most, grain in PLANS:
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
