package dev.banyan.cli.bench;

import org.jspecify.annotations.Nullable;

/** Runs what {@code bench} is asked for on one machine, and reports it. */
interface Bench {
    /** What stands for the machine's devices, in words. */
    String devices();

    /** Runs a sweep. Returns the number of wrong elements. */
    long run(Sweep sweep);

    /**
     * Runs a workload. Returns the number of wrong elements.
     *
     * @param rounds timed rounds, or null for as many as make sense
     */
    long run(Workload workload, AlgorithmList algorithms, @Nullable Integer rounds);
}
