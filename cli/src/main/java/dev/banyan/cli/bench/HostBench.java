package dev.banyan.cli.bench;

import dev.banyan.topology.Machine;
import org.jspecify.annotations.Nullable;

/** Measures virtual devices in host memory. */
final class HostBench implements Bench {
    private final Machine machine;
    private final Reporter reporter;

    HostBench(Machine machine, Reporter reporter) {
        this.machine = machine;
        this.reporter = reporter;
    }

    @Override
    public String devices() {
        return "played by the host backend: " + Runtime.getRuntime().availableProcessors() + " processors, "
                + System.getProperty("os.arch") + ", Java " + Runtime.version().feature();
    }

    @Override
    public long run(Sweep sweep) {
        return new SweepBench(machine, reporter).run(sweep);
    }

    @Override
    public long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds) {
        return new WorkloadBench(new HostSite(machine), reporter).run(workload, algorithms, rounds);
    }
}
