package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
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
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.process.LocalProcesses;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Names;
import dev.banyan.study.text.Numbers;
import dev.banyan.study.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
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
public final class BenchCommand extends ReportCommand {
    private static final int MOST_COMPUTE_MS = 60_000;
    private static final int MOST_DEVICES = 1024;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final SweepArguments sweep = new SweepArguments();

    @Option(
            names = {"-g", "--ngpus"},
            paramLabel = "N",
            description = "The first N devices of the machine, as --devices 0-(N-1).")
    private @Nullable Integer gpus;

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
            description = "With --compute-ms: device, a parameter server, tree, ring or auto (default: auto), which is"
                + " compared with device and ring; or funnel, concum or depcha, which span all processes that mpirun"
                + " started and are compared with each other.")
    private @Nullable StoreType store;

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
        converters.add(StoreType.class, "type of store", Names.of(StoreType.values(), StoreType::label));
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
        Reporter reporter = new Reporter(out(), err(), json(), plot, this::answer);
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
        if (played != null && computeMs != null && store != null && store.overProcesses()) {
            return new WorldBench(machine)
                    .run(played, store, computeMs, sweep.runs(), Objects.requireNonNullElse(localDevices, 1), reporter);
        }
        if (played != null && computeMs != null) {
            ChosenMachine chosen = machine.choose(2);
            reporter.introduce(
                    chosen, new HostSite(chosen.machine()).devices(), Platform.ofThisHost(), null, config.warnings());
            return new OverlapBench(chosen.machine(), reporter)
                    .run(played, Objects.requireNonNullElse(store, StoreType.AUTO), computeMs, sweep.runs());
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
                Bench bench = new MeasuredBench(new HostSite(chosen.machine()), reporter);
                yield run(bench, workload, chosen, config, reporter);
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
                Bench bench = new SimulatedBench(chosen, constants, execution, reporter, trace);
                yield run(bench, workload, chosen, config, reporter);
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
        ProcessesBench bench = new ProcessesBench(machine, place, sweep.repeats(), own);
        return backend == BenchBackend.CUDA
                ? bench.runOnGpus(sweep.sweeps(count, algorithms), config, warnings(config))
                : bench.runOnHost(sweep.sweeps(count, algorithms), warnings(config));
    }

    private long run(Bench bench, @Nullable Workload workload, ChosenMachine chosen, Config config, Reporter reporter) {
        if (workload == null) {
            List<Sweep> sweeps = sweep.sweeps(chosen.machine().size(), algorithms);
            requireOneToTrace(sweeps.getFirst().algorithms());
            introduce(bench, false, chosen, config, reporter);
            return Sweep.runAll(possible(bench, sweeps, reporter), bench::run, reporter);
        }
        AlgorithmList list = Objects.requireNonNullElse(algorithms, AlgorithmList.ALL);
        requireOneToTrace(list);
        introduce(bench, true, chosen, config, reporter);
        return bench.run(workload, list, sweep.runs());
    }

    /** Leaves out sweeps that cannot be run, unless that is all of them: the first one says why then. */
    private static List<Sweep> possible(Bench bench, List<Sweep> sweeps, Reporter reporter) {
        List<Sweep> possible = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (Sweep each : sweeps) {
            String refusal = bench.refusal(each);
            if (refusal == null) {
                possible.add(each);
            } else {
                others.add("# left out: " + each.call().elementAndOp() + ": " + refusal);
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
        sweep.refuseNonsense();
        boolean simulated = backend == BenchBackend.SIM;
        require(simulated || profile == null, "--profile is what the simulator goes by; add --backend sim");
        require(
                simulated || trace == null,
                "--trace has times of single steps from the simulator only; add --backend sim");
        require(
                !simulated || !sweep.isRepeated(),
                "-n and -w have no meaning for --backend sim, whose runs are all alike");
        require(workload == null || plot == null, "--plot draws a sweep of sizes; leave it or --workload out");
        require(
                workload == null || !sweep.anySizeGiven(),
                "--workload brings its own sizes; leave -b, -e, -f and -i out");
        require(
                !sweep.isSeveral() || (plot == null && trace == null),
                "--plot and --trace show one type and operation; name them with -d and -o");
        require(
                gpus == null || (gpus > 0 && gpus <= MOST_DEVICES),
                "-g is " + gpus + "; it must be from 1 to " + MOST_DEVICES);
        require(
                gpus == null || store == null || !store.overProcesses(),
                "-g has no meaning for --kvstore funnel, concum or depcha; --local-devices gives those of each");
        require(
                gpus == null || processes == null || gpus == 1,
                "-g is " + gpus + ", but each of the processes has one device; leave -g out");
        refuseNonsenseOfStores(workload);
        refuseNcclElsewhere(workload);
        require(
                workload == null || sweep.isSumOfFloats(),
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
                localDevices == null || (store != null && store.overProcesses()),
                "--local-devices is for stores of several processes; add --kvstore " + "funnel|concum|depcha");
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
}
