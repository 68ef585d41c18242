package dev.banyan.cli.bench;

import dev.banyan.schedule.plan.AlgorithmChoice;
import org.jspecify.annotations.Nullable;

/** Measures calls where ranks are played. */
record MeasuredBench(RankSite site, Reporter reporter) implements Bench {
    @Override
    public String devices() {
        return site.devices();
    }

    @Override
    public long run(Sweep sweep) {
        boolean besideNccl = sweep.algorithms().choices().contains(AlgorithmChoice.NCCL)
                && sweep.algorithms().choices().size() > 1
                && site.ranks() > 1;
        return besideNccl
                ? new NcclTurns(site, sweep.call(), reporter).run(sweep)
                : new SweepBench(site, reporter).run(sweep);
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        return new WorkloadBench(site, reporter).run(workload, algorithms, rounds);
    }
}
