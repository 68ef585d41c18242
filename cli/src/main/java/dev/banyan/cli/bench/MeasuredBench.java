package dev.banyan.cli.bench;

import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.workload.WorkloadBench;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.workload.Workload;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Measures calls on devices or virtual devices. */
record MeasuredBench(RankSite site, RunArguments.Runs runs, Reporter reporter) {
    /** Runs a sweep. Returns the number of wrong elements. */
    long run(Sweep sweep) {
        require(refusal(sweep));
        boolean besideNccl = sweep.hasNccl() && sweep.algorithms().size() > 1 && site.ranks() > 1;
        return besideNccl
                ? new NcclTurns(site, sweep.call(), runs, reporter).run(sweep)
                : new SweepBench(site, runs, reporter).run(sweep);
    }

    /**
     * Runs a workload. Returns the number of wrong elements.
     *
     * @param rounds timed rounds, or null for as many as make sense
     */
    long run(Workload workload, List<AlgorithmConfig> algorithms, @Nullable Integer rounds) {
        require(refusal(algorithms, new NcclRequest(Collective.ALL_REDUCE, -1, 1, DataType.F32, ReduceOp.SUM, true)));
        return new WorkloadBench(site, reporter).run(workload, algorithms, rounds);
    }

    /** Returns why a sweep cannot be run, or null if it can. */
    @Nullable
    String refusal(Sweep sweep) {
        return refusal(sweep.algorithms(), sweep.call().ncclRequest(sweep.largestCount(), true));
    }

    /** Returns why NCCL, if it is asked for, cannot run a collective. */
    private @Nullable String refusal(List<AlgorithmConfig> algorithms, NcclRequest request) {
        return Sweep.hasNccl(algorithms) ? site.refusal(request) : null;
    }

    private static void require(@Nullable String refusal) {
        if (refusal != null) {
            throw new IllegalStateException(refusal);
        }
    }
}
