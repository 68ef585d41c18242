package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.study.workload.Workload;
import org.jspecify.annotations.Nullable;

/** Runs what {@code bench} is asked for on one machine, and reports it. */
interface Bench {
    /** Returns the stand-ins for the machine's devices, in words. */
    String devices();

    /**
     * Returns the executor of calls.
     *
     * @param isWorkload whether it is a workload that is run
     */
    Platform platform(boolean isWorkload);

    /** The simulator's constants; null where it is not asked. */
    default @Nullable String profile() {
        return null;
    }

    /** Returns why a sweep cannot be run, or null if it can. */
    default @Nullable String refusal(Sweep sweep) {
        return null;
    }

    /** Runs a sweep. Returns the number of wrong elements. */
    long run(Sweep sweep);

    /**
     * Runs a workload. Returns the number of wrong elements.
     *
     * @param rounds timed rounds, or null for as many as make sense
     */
    long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds);
}
