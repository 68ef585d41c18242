package dev.banyan.cli.bench;

import org.jspecify.annotations.Nullable;

/** Measures calls where ranks are played. */
record MeasuredBench(RankSite site, Reporter reporter) implements Bench {
    @Override
    public String devices() {
        return site.devices();
    }

    @Override
    public long run(Sweep sweep) {
        return new SweepBench(site, reporter).run(sweep);
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        return new WorkloadBench(site, reporter).run(workload, algorithms, rounds);
    }
}
