package dev.banyan.cli.bench;

import java.util.Map;
import java.util.Optional;

/** What {@code bench} has in place of options of nccl-tests that it does not take. */
final class NcclTestsOptions {
    private static final String THREADS =
            "one thread runs all devices: give their number by -g, or processes by --processes";
    private static final String REGISTRATION = "the memory that bench allocates needs no registration";
    private static final String BLOCKING = "each call is waited for before the next one begins";
    private static final String PROCESSOR_TIME = "only the time until a call has ended is measured";
    private static final String GRAPHS = "BANYAN_CUDA_EXECUTOR says how calls run on GPUs";
    private static final String PARALLEL = "the devices of a process are always opened one after another";
    private static final String DEADLINE = "BANYAN_TIMEOUT_MS has the deadline of a call";
    private static final String CYCLES = "-n says how often each size runs";
    private static final String FILE = "--format json prints all figures, to be sent to a file";

    /** By option, as nccl-tests name it; those that mean something else here, as -a and -m, are not among them. */
    private static final Map<String, String> INSTEAD = Map.ofEntries(
            Map.entry("-t", THREADS),
            Map.entry("--nthreads", THREADS),
            Map.entry("-R", REGISTRATION),
            Map.entry("--local_register", REGISTRATION),
            Map.entry("-z", BLOCKING),
            Map.entry("--blocking", BLOCKING),
            Map.entry("-C", PROCESSOR_TIME),
            Map.entry("--report_cputime", PROCESSOR_TIME),
            Map.entry("-G", GRAPHS),
            Map.entry("--cudagraph", GRAPHS),
            Map.entry("-p", PARALLEL),
            Map.entry("--parallel_init", PARALLEL),
            Map.entry("-T", DEADLINE),
            Map.entry("--timeout", DEADLINE),
            Map.entry("-N", CYCLES),
            Map.entry("--run_cycles", CYCLES),
            Map.entry("-J", FILE),
            Map.entry("--output_file", FILE));

    private NcclTestsOptions() {}

    /** Returns a sentence on an option of nccl-tests. */
    static Optional<String> refusal(String option) {
        return Optional.ofNullable(INSTEAD.get(option))
                .map(instead -> "bench has no " + option + " of nccl-tests: " + instead);
    }
}
