package dev.banyan.cli.bench;

import java.util.Map;
import java.util.Optional;

/** The options of {@code bench} in place of those of nccl-tests that it does not take. */
final class NcclTestsOptions {
    private static final String THREADS = "one thread calls for all devices; -g gives their number, --processes that of"
            + " processes, and BANYAN_THREADS the threads of the host backend";
    private static final String REGISTRATION = "the memory that bench allocates needs no registration";
    private static final String BLOCKING = "each call is waited for before the next one begins";
    private static final String PROCESSOR_TIME = "only the time until a call has ended is measured";
    private static final String GRAPHS = "BANYAN_CUDA_EXECUTOR says how calls run on GPUs";
    private static final String PARALLEL = "the devices of a process are always opened one after another";
    private static final String DEADLINE = "BANYAN_TIMEOUT_MS sets the deadline of a call";
    private static final String REPEATED = "-n says how often each size runs";
    private static final String FILE = "--format json prints all figures, to be sent to a file";
    private static final String ONE_RANK = "times are those of rank 0";
    private static final String STREAM = "calls run in streams of their own";
    private static final String OWN_KERNELS = "kernels are Banyan's; --algorithm nccl runs NCCL as it is set up";

    /** By option, as nccl-tests name it; -a and -m are not among them, as they mean something else here. */
    private static final Map<String, String> INSTEAD = Map.ofEntries(
            Map.entry("-t", THREADS),
            Map.entry("--nthreads", THREADS),
            Map.entry("-R", REGISTRATION),
            Map.entry("--local_register", REGISTRATION),
            Map.entry("-z", BLOCKING),
            Map.entry("--blocking", BLOCKING),
            Map.entry("-y", STREAM),
            Map.entry("--stream_null", STREAM),
            Map.entry("-C", PROCESSOR_TIME),
            Map.entry("--report_cputime", PROCESSOR_TIME),
            Map.entry("-G", GRAPHS),
            Map.entry("--cudagraph", GRAPHS),
            Map.entry("-p", PARALLEL),
            Map.entry("--parallel_init", PARALLEL),
            Map.entry("-T", DEADLINE),
            Map.entry("--timeout", DEADLINE),
            Map.entry("-N", REPEATED),
            Map.entry("--run_cycles", REPEATED),
            Map.entry("--agg_iters", REPEATED),
            Map.entry("--average", ONE_RANK),
            Map.entry("-J", FILE),
            Map.entry("--output_file", FILE),
            Map.entry("-D", OWN_KERNELS),
            Map.entry("--device_implementation", OWN_KERNELS),
            Map.entry("-x", OWN_KERNELS),
            Map.entry("--cta_policy", OWN_KERNELS));

    private NcclTestsOptions() {}

    /**
     * Returns a sentence on an option of nccl-tests.
     *
     * @param word as it was written: its value may follow at once, as in {@code -t4} and {@code --nthreads=4}
     */
    static Optional<String> refusal(String word) {
        String option = word.startsWith("--") ? word.split("=", 2)[0] : word.substring(0, Math.min(2, word.length()));
        return Optional.ofNullable(INSTEAD.get(option))
                .map(instead -> "bench has no " + option + " of nccl-tests: " + instead);
    }
}
