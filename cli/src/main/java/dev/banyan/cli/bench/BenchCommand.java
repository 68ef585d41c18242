package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.ElementType;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.CudaSite;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.rank.RankBackend;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.workload.OverlapBench;
import dev.banyan.cli.bench.workload.WorkloadOption;
import dev.banyan.cli.bench.workload.WorldBench;
import dev.banyan.cli.input.Converters;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RankedGpus;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.process.LocalProcesses;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Names;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan bench}: the options, which are those of nccl-tests where nccl-tests has them. */
@Command(
        name = "bench",
        description = {
            "Measure collectives, check every element, and say what to expect; or predict them (--backend sim).",
            "Without options: a short all_reduce sweep of all algorithms."
        },
        footer = {
            "",
            "Columns are those of nccl-tests: busbw is algbw times 2(n-1)/n for all_reduce,",
            "(n-1)/n for reduce_scatter and all_gather, and 1 for reduce and broadcast.",
            "",
            "Examples:",
            "  banyan bench",
            "  banyan bench -b 8 -e 128M -f 2 --algorithm ring,multi-tree",
            "  banyan bench --machine dgx-2 --devices 0-3 --collective all_gather -d half",
            "  banyan bench --workload resnet-50 --format json",
            "  banyan bench --backend sim --machine dgx-h100 --workload llama-3-8b --bucket 25M",
            "  banyan bench --backend cuda -b 1K -e 1G -f 4 --algorithm all",
            "  banyan bench --backend cuda --devices 0,0,0,0 --workload resnet-50",
            "  banyan bench --workload resnet-50 --compute-ms 50 --kvstore tree",
            "  banyan bench --processes 4 -b 4K -e 64M -f 4",
            "  mpirun -np 2 banyan bench --workload resnet-50 --compute-ms 200 --kvstore depcha --local-devices 2",
            "  banyan bench --backend sim --machine dgx-a100 -b 1K -e 1G -f 4 --algorithm all,nccl",
            "  banyan bench --backend sim -b 64M -e 64M --algorithm packing --trace timeline.json",
            "  banyan bench -b 1K -e 64M --algorithm all --plot sweep.svg"
        })
public final class BenchCommand extends Subcommand {
    private static final ByteSize FIRST = ByteSize.parse("8");
    private static final ByteSize LAST = ByteSize.parse("128M");
    private static final ByteSize SHORT_FIRST = ByteSize.parse("1K");
    private static final ByteSize SHORT_LAST = ByteSize.parse("64M");
    private static final int FACTOR = 2;
    private static final int SHORT_FACTOR = 4;
    private static final int WARMUPS = 5;
    private static final int RUNS = 20;
    private static final int SHORT_RUNS = 3;
    private static final int MOST_RUNS = 1000;
    private static final int MOST_SIZES = 10_000;
    private static final int MOST_COMPUTE_MS = 60_000;
    private static final int MOST_DEVICES = 1024;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = {"-b", "--minbytes"},
            paramLabel = "SIZE",
            description = "Smallest size, e.g. 8, 64K, 1M (default: 8; of the short sweep 1K).")
    private @Nullable ByteSize first;

    @Option(
            names = {"-e", "--maxbytes"},
            paramLabel = "SIZE",
            description = "Largest size (default: 128M; of the short sweep 64M).")
    private @Nullable ByteSize last;

    @Option(
            names = {"-f", "--stepfactor"},
            paramLabel = "N",
            description = "Each size is N times the one before (default: 2; of the short sweep 4).")
    private @Nullable Integer factor;

    @Option(
            names = {"-i", "--stepbytes"},
            paramLabel = "SIZE",
            description = "Each size is SIZE more than the one before, instead of -f.")
    private @Nullable ByteSize step;

    @Option(
            names = {"-n", "--iters"},
            paramLabel = "N",
            description = "Timed runs of each size (default: 20, more where they are short, fewer in the short sweep"
                    + " where they are long).")
    private @Nullable Integer runs;

    @Option(
            names = {"-w", "--warmup_iters"},
            paramLabel = "N",
            description = "Runs before the timed ones (default: 5).")
    private @Nullable Integer warmups;

    @Option(
            names = {"-c", "--check"},
            paramLabel = "N",
            description = "0 leaves out the check of every element against a 64-bit reference (default: 1).")
    private int check = 1;

    @Option(
            names = {"-d", "--datatype"},
            paramLabel = "TYPE",
            description = "int8, uint8, int32, int64, half, bfloat16, float, double or all, one after another"
                    + " (default: float).")
    private ElementTypes types = ElementTypes.FLOAT;

    @Option(
            names = {"-o", "--op"},
            paramLabel = "OP",
            description = "sum, prod, min, max, avg or all, one after another (default: sum).")
    private Operations ops = Operations.SUM;

    @Option(
            names = {"-g", "--ngpus"},
            paramLabel = "N",
            description = "The first N devices of the machine, as --devices 0-(N-1).")
    private @Nullable Integer gpus;

    @Option(
            names = {"-r", "--root"},
            paramLabel = "RANK",
            description = "Root of a reduce or broadcast (default: 0).")
    private @Nullable Integer root;

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            description = "all_reduce, reduce, broadcast, reduce_scatter or all_gather (default: all_reduce).")
    private Collective collective = Collective.ALL_REDUCE;

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "NAME[,NAME]",
            description = "auto, single-tree, multi-tree, packing, ring, star, one-shot, all of these but auto, or"
                    + " nccl, the NCCL of this machine, which --backend sim predicts (default: auto; of the short sweep"
                    + " and of workloads all). all leaves nccl out, as not every machine has it and it has no timeline:"
                    + " name it too, all,nccl.")
    private @Nullable AlgorithmList algorithms;

    @Mixin
    private final WorkloadOption workloads = new WorkloadOption();

    @Option(
            names = "--compute-ms",
            paramLabel = "T",
            description =
                    "With --workload: play a backward pass that releases a gradient after the other, the last layer's"
                        + " first, over T ms while a key-value store pushes and pulls them, and say how much of that"
                        + " the computation hides.")
    private @Nullable Double computeMs;

    @Option(
            names = "--kvstore",
            paramLabel = "TYPE",
            converter = StoreTypeConverter.class,
            description = "With --compute-ms: device, a parameter server, tree, ring or auto (default: auto), which is"
                + " compared with device and ring; or funnel, concum or depcha, which span all processes that mpirun"
                + " started and are compared with each other.")
    private @Nullable String store;

    @Option(
            names = "--local-devices",
            paramLabel = "D",
            description =
                    "With --kvstore funnel, concum or depcha: the first D devices of the machine are those of each"
                            + " process (default: 1).")
    private @Nullable Integer localDevices;

    @Option(
            names = "--processes",
            paramLabel = "N",
            description =
                    "Start N processes on this machine, each with a rank, on the host or with --backend cuda on GPUs;"
                            + " under mpirun take its processes. Times are those of rank 0.")
    private @Nullable Integer processes;

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            description = "What carries the calls out: host, virtual devices in host memory, cuda, GPUs, or sim, the"
                    + " simulator, which predicts times on the machine's links (default: host).")
    private BenchBackend backend = BenchBackend.HOST;

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "With --backend sim: the constants of the machine class (default: what fits the machine).")
    private @Nullable Profile profile;

    @Option(
            names = "--trace",
            paramLabel = "FILE.json",
            description =
                    "With --backend sim and one algorithm: write the timeline of the largest size, or of a workload"
                            + " with all keys in flight, for ui.perfetto.dev: a row per device and per direction of a"
                            + " link.")
    private @Nullable OutputFile trace;

    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Draw the sweep: time and bus bandwidth over the size, a curve for each algorithm.")
    private @Nullable PlotFile plot;

    /** Registers the types that options of benchmarks have. */
    public static void registerConverters(Converters converters) {
        converters.add(ElementTypes.class, "element type", ElementTypes.named());
        converters.add(AlgorithmList.class, AlgorithmList::parse);
        converters.add(Workload.class, Workload::named);
        converters.add(Operations.class, "operation", Operations.named());
        converters.add(BenchBackend.class, "backend", Names.of(BenchBackend.values(), BenchBackend::name));
        converters.add(RankBackend.class, "backend", Names.of(RankBackend.values(), RankBackend::name));
    }

    @Override
    public Optional<String> refusal(String option) {
        return NcclTestsOptions.refusal(option);
    }

    @Override
    public void run() {
        Workload workload = workloads.get();
        refuseNonsense(workload);
        if (gpus != null && processes == null) {
            machine.takeFirst(gpus, "-g");
        }
        Config config = Config.load();
        Reporter reporter = new Reporter(out(), err(), format, plot, this::answer);
        long wrong;
        try {
            wrong = measure(workload, config, reporter);
        } finally {
            // The rows that were measured before a failure are not lost.
            reporter.finish();
        }
        refuseWrong(wrong);
    }

    /** Returns the number of wrong elements. */
    private long measure(@Nullable Workload workload, Config config, Reporter reporter) {
        Workload played = computeMs == null ? null : workloads.fromInput();
        if (played != null && computeMs != null && store != null && WorldBench.TYPES.contains(store)) {
            return new WorldBench(machine)
                    .run(played, store, computeMs, runs, Objects.requireNonNullElse(localDevices, 1), reporter);
        }
        if (played != null && computeMs != null) {
            ChosenMachine chosen = machine.choose(2);
            reporter.introduce(
                    chosen, new HostSite(chosen.machine()).devices(), Platform.ofThisHost(), null, config.warnings());
            return new OverlapBench(chosen.machine(), reporter)
                    .run(played, Objects.requireNonNullElse(store, "auto"), computeMs, runs);
        }
        if (processes != null) {
            require(
                    workload == null && backend != BenchBackend.SIM,
                    "--processes is for sweeps on the host or on GPUs; leave --workload and --backend sim out");
            return runInProcesses(processes, config, reporter);
        }
        return switch (backend) {
            case HOST -> {
                ChosenMachine chosen = machine.choose(2);
                yield run(
                        new MeasuredBench(new HostSite(chosen.machine()), reporter),
                        workload,
                        chosen,
                        config,
                        reporter);
            }
            case CUDA -> {
                RankedGpus ranked = machine.chooseGpus(1);
                ChosenMachine chosen = ranked.chosen();
                try (CudaSite site = new CudaSite(chosen.machine(), chosen.whole(), ranked.ordinals(), config)) {
                    yield run(new MeasuredBench(site, reporter), workload, chosen, config, reporter);
                }
            }
            case SIM -> {
                ChosenMachine chosen = machine.choose(2);
                Profile constants = profile == null ? Profiles.of(chosen.machine()) : profile;
                Execution execution = CudaBackendProvider.execution(config);
                yield run(
                        new SimulatedBench(chosen, constants, execution, reporter, trace),
                        workload,
                        chosen,
                        config,
                        reporter);
            }
        };
    }

    /** Starts the processes, or does the part of one of them. Returns the number of wrong elements. */
    private long runInProcesses(int count, Config config, Reporter reporter) {
        require(count >= 2, "--processes is " + count + "; give at least 2");
        require(
                algorithms == null || !algorithms.choices().contains(AlgorithmChoice.NCCL),
                "--algorithm nccl runs in one process; leave --processes out");
        int named = machine.devices() == null ? count : machine.devices().indices().length;
        require(
                named == count,
                "--devices names " + Numbers.count(named, "device") + " for " + count
                        + " processes; name one for each");
        if (!JobPlace.isGiven(config, System.getenv())) {
            if (backend == BenchBackend.HOST) {
                machine.choose(count); // refuses a machine before processes start
            }
            LocalProcesses.run(
                    count, spec().commandLine().getParent().getParseResult().originalArgs(), line -> {
                        out().println(line);
                        out().flush();
                    });
            return 0;
        }
        JobPlace place = JobPlace.find(config, System.getenv());
        require(
                place.processes() == count,
                "--processes is " + count + ", but the launcher has started " + place.processes());
        Reporter own = place.process() == 0 ? reporter : reporter.silent();
        ProcessesBench bench = new ProcessesBench(machine, place, repeats(), own);
        return backend == BenchBackend.CUDA
                ? bench.runOnGpus(sweeps(count), config, warnings(config))
                : bench.runOnHost(sweeps(count), warnings(config));
    }

    private long run(Bench bench, @Nullable Workload workload, ChosenMachine chosen, Config config, Reporter reporter) {
        if (workload == null) {
            List<Sweep> sweeps = sweeps(chosen.machine().size());
            requireOneToTrace(sweeps.getFirst().algorithms());
            introduce(bench, false, chosen, config, reporter);
            return Sweep.runAll(possible(bench, sweeps, reporter), bench::run, reporter);
        }
        AlgorithmList list = Objects.requireNonNullElse(algorithms, AlgorithmList.ALL);
        requireOneToTrace(list);
        introduce(bench, true, chosen, config, reporter);
        return bench.run(workload, list, runs);
    }

    /** Leaves out sweeps that cannot be run, unless that is all of them: the first one says why then. */
    private static List<Sweep> possible(Bench bench, List<Sweep> sweeps, Reporter reporter) {
        List<Sweep> possible = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (Sweep sweep : sweeps) {
            String refusal = bench.refusal(sweep);
            if (refusal == null) {
                possible.add(sweep);
            } else {
                others.add("# left out: " + sweep.call().elementAndOp() + ": " + refusal);
            }
        }
        if (possible.isEmpty()) {
            return sweeps;
        }
        reporter.lines(others);
        return possible;
    }

    private static List<String> warnings(Config config) {
        List<String> warnings = new ArrayList<>(config.warnings());
        if (config.find(Planner.ALGORITHM).isPresent()) {
            warnings.add(Planner.ALGORITHM.name() + " has no effect on bench; --algorithm names what is measured");
        }
        return warnings;
    }

    private void introduce(Bench bench, boolean isWorkload, ChosenMachine chosen, Config config, Reporter reporter) {
        reporter.introduce(chosen, bench.devices(), bench.platform(isWorkload), bench.profile(), warnings(config));
        if (backend == BenchBackend.HOST) {
            reporter.lines(List.of("# auto takes the star on host memory, where all algorithms read and write each byte"
                    + " of an all_reduce once"));
        }
    }

    private static void refuseWrong(long wrong) {
        if (wrong > 0) {
            throw new IllegalStateException(
                    wrong + (wrong == 1 ? " element is" : " elements are") + " not what the 64-bit reference says");
        }
    }

    private void refuseNonsense(@Nullable Workload workload) {
        boolean simulated = backend == BenchBackend.SIM;
        require(simulated || profile == null, "--profile is what the simulator goes by; add --backend sim");
        require(
                simulated || trace == null,
                "--trace has times of single steps from the simulator only; add --backend sim");
        require(
                !simulated || (runs == null && warmups == null),
                "-n and -w have no meaning for --backend sim, whose runs are all alike");
        require(factor == null || step == null, "-f and -i exclude each other");
        require(factor == null || factor > 1, "-f is " + factor + "; it must be at least 2");
        require(step == null || step.bytes() > 0, "-i is 0; it must be at least 1");
        require(runs == null || runs > 0, "-n is " + runs + "; it must be at least 1");
        require(warmups == null || warmups >= 0, "-w is " + warmups + "; it must not be negative");
        require(check >= 0, "-c is " + check + "; it must not be negative");
        require(
                root == null || collective.hasRoot(),
                "-r has no meaning for " + collective.label() + ", which has no root");
        require(workload == null || plot == null, "--plot draws a sweep of sizes; leave it or --workload out");
        require(workload == null || !anySizeGiven(), "--workload brings its own sizes; leave -b, -e, -f and -i out");
        boolean several =
                types.types().size() > 1 || (collective.reduces() && ops.ops().size() > 1);
        require(
                !several || (plot == null && trace == null),
                "--plot and --trace show one type and operation; name them with -d and -o");
        require(
                gpus == null || (gpus > 0 && gpus <= MOST_DEVICES),
                "-g is " + gpus + "; it must be from 1 to " + MOST_DEVICES);
        require(
                gpus == null || store == null || !WorldBench.TYPES.contains(store),
                "-g has no meaning for --kvstore " + store + "; --local-devices gives the devices of each process");
        require(
                gpus == null || processes == null || gpus == 1,
                "-g is " + gpus + ", but each of the processes has one device; leave -g out");
        refuseNonsenseOfStores(workload);
        refuseNcclElsewhere(workload);
        require(
                workload == null
                        || (collective == Collective.ALL_REDUCE
                                && types.equals(ElementTypes.FLOAT)
                                && ops.equals(Operations.SUM)),
                "--workload is an all_reduce of float by sum; leave --collective, -d and -o out");
    }

    private void refuseNcclElsewhere(@Nullable Workload workload) {
        if (algorithms != null && algorithms.choices().contains(AlgorithmChoice.NCCL)) {
            require(
                    backend != BenchBackend.HOST,
                    "--algorithm nccl runs on GPUs; add --backend cuda, or --backend sim, which predicts it");
            require(
                    backend != BenchBackend.SIM || (workload == null && trace == null),
                    "--algorithm nccl is predicted call by call; leave --workload and --trace out");
        }
    }

    private void refuseNonsenseOfStores(@Nullable Workload workload) {
        require(
                localDevices == null || (store != null && WorldBench.TYPES.contains(store)),
                "--local-devices is for stores of several processes; add --kvstore "
                        + String.join("|", WorldBench.TYPES));
        require(
                localDevices == null || localDevices > 0,
                "--local-devices is " + localDevices + "; it must be at least 1");
        require(store == null || computeMs != null, "--kvstore is for a backward pass; add --compute-ms");
        if (computeMs != null) {
            require(workload != null, "--compute-ms is for the gradients of a model; add --workload");
            require(
                    computeMs > 0 && computeMs <= MOST_COMPUTE_MS,
                    "--compute-ms is " + computeMs + "; it must be above 0 and at most " + MOST_COMPUTE_MS);
            require(
                    backend == BenchBackend.HOST,
                    "--compute-ms is played on the host backend only; leave --backend out");
            require(
                    algorithms == null,
                    "--kvstore says how keys are sent; leave --algorithm out, or set BANYAN_ALGORITHM for --kvstore"
                            + " auto");
        }
    }

    private void requireOneToTrace(AlgorithmList list) {
        require(trace == null || list.choices().size() == 1, "--trace shows one algorithm; name it with --algorithm");
    }

    private boolean anySizeGiven() {
        return first != null || last != null || factor != null || step != null;
    }

    /** Returns a sweep for each type and operation. */
    private List<Sweep> sweeps(int ranks) {
        int rootOrNone = collective.hasRoot() ? Objects.requireNonNullElse(root, 0) : -1;
        require(
                rootOrNone < ranks && (root == null || root >= 0),
                "-r is " + root + "; the ranks are 0.." + (ranks - 1));
        AlgorithmList byDefault = anySizeGiven() ? AlgorithmList.AUTO : AlgorithmList.ALL;
        AlgorithmList chosen = Objects.requireNonNullElse(algorithms, byDefault);
        List<Long> sizes = sizes();
        List<Sweep> sweeps = new ArrayList<>();
        for (ElementType type : types.types()) {
            for (ReduceOp op : collective.reduces() ? ops.ops() : Operations.SUM.ops()) {
                Call call = new Call(collective, type, op, rootOrNone, ranks);
                List<Long> counts =
                        sizes.stream().map(call::countFor).distinct().toList();
                sweeps.add(new Sweep(call, counts, chosen, repeats(), check > 0));
            }
        }
        return sweeps;
    }

    private List<Long> sizes() {
        boolean given = anySizeGiven();
        long from = (first != null ? first : given ? FIRST : SHORT_FIRST).bytes();
        // One of the two ends alone may lie beyond the other's default.
        long to = last != null ? last.bytes() : Math.max(from, (given ? LAST : SHORT_LAST).bytes());
        from = first == null ? Math.min(from, to) : from;
        require(
                from > 0 && to >= from,
                "-b is " + from + " and -e is " + to + "; sizes must be positive and ascending");
        require(to <= Sizes.MOST_BYTES, "-e is " + to + " bytes; it must be at most 1024T");
        if (step != null) {
            require(
                    (to - from) / step.bytes() < MOST_SIZES,
                    "-i makes more than " + MOST_SIZES + " sizes; make it larger");
            return Sizes.byStep(from, to, step.bytes());
        }
        return Sizes.byFactor(from, to, factor != null ? factor : given ? FACTOR : SHORT_FACTOR);
    }

    private Repeats repeats() {
        int before = warmups == null ? WARMUPS : warmups;
        if (runs != null) {
            return Repeats.exactly(before, runs);
        }
        return anySizeGiven()
                ? new Repeats(before, RUNS, MOST_RUNS, TimeUnit.MILLISECONDS.toNanos(10))
                : new Repeats(Math.min(before, SHORT_RUNS), SHORT_RUNS, MOST_RUNS, TimeUnit.MILLISECONDS.toNanos(80));
    }
}
