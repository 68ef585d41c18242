package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.cli.bench.call.ElementTypes;
import dev.banyan.cli.bench.rank.BackendOption;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.rank.RankBackend;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.workload.OverlapBench;
import dev.banyan.cli.bench.workload.WorkloadOption;
import dev.banyan.cli.bench.workload.WorldBench;
import dev.banyan.cli.input.Converters;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.process.LocalProcesses;
import dev.banyan.config.Config;
import dev.banyan.kvstore.StoreType;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Planner;
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
            "Measure collectives on the GPUs of this machine, or in host memory where it has fewer than two, check"
                    + " every element, and print what to expect.",
            "Without options: a short all_reduce sweep of all algorithms. 'banyan predict' simulates the same."
        },
        footer = {
            "",
            SweepArguments.COLUMNS,
            "",
            "Examples:",
            "  banyan bench",
            "  banyan bench -b 8 -e 128M -f 2 --algorithm ring,multi-tree",
            "  banyan bench --machine dgx-2 --devices 0-3 --collective all_gather -d half",
            "  banyan bench --workload resnet-50 --format json",
            "  banyan bench -b 1K -e 1G -f 4 --algorithm all,nccl",
            "  banyan bench --devices 0,0,0,0 --workload resnet-50",
            "  banyan bench --workload resnet-50 --compute-ms 50 --kvstore tree",
            "  banyan bench --processes 4 -b 4K -e 64M -f 4",
            "  mpirun -np 2 banyan bench --workload resnet-50 --compute-ms 200 --kvstore depcha --local-devices 2",
            "  banyan bench -b 1K -e 64M --algorithm all --plot sweep.svg"
        })
public final class BenchCommand extends ReportCommand {
    private static final int MOST_COMPUTE_MS = 60_000;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final SweepArguments sweep = new SweepArguments();

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Mixin
    private final RunArguments repeated = new RunArguments();

    @Mixin
    private final BackendOption backend = new BackendOption();

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
                    "Start N processes on this machine, each with a rank; under mpirun take its processes. Times are"
                            + " those of rank 0.")
    private @Nullable Integer processes;

    /** Registers the types that options of benchmarks have. */
    public static void registerConverters(Converters converters) {
        converters.add(ElementTypes.class, "element type", ElementTypes.named());
        converters.add(AlgorithmList.class, AlgorithmList::parse);
        converters.add(Workload.class, Workload::named);
        converters.add(Operations.class, "operation", Operations.named());
        converters.add(StoreType.class, "type of store", Names.of(StoreType.values(), StoreType::label));
        converters.add(RankBackend.class, BackendOption::parse);
    }

    @Override
    public Optional<String> refusal(String option) {
        return option.equals("--profile") || option.equals("--trace")
                ? Optional.of(option + " is of the simulator; take 'banyan predict', or leave it out")
                : NcclTestsOptions.refusal(option);
    }

    @Override
    public void run() {
        Workload workload = workloads.get();
        refuseNonsense(workload);
        if (processes != null) {
            machine.dropFirst();
        }
        Config config = Config.load();
        Reporter reporter = new Reporter(out(), err(), forPrograms(), sweep.plot(), this::print);
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
                    .run(
                            played,
                            store,
                            computeMs,
                            repeated.runs(),
                            Objects.requireNonNullElse(localDevices, 1),
                            reporter);
        }
        if (played != null && computeMs != null) {
            HostSite site = new HostSite(machine.choose(2));
            reporter.introduce(site.chosen(), site.devices(), site.platform(), config.warnings());
            return new OverlapBench(site, reporter)
                    .run(played, Objects.requireNonNullElse(store, StoreType.AUTO), computeMs, repeated.runs());
        }
        if (processes != null) {
            require(workload == null, "--processes is for sweeps; leave --workload out");
            return runInProcesses(processes, config, reporter);
        }
        RunArguments.Runs runs = repeated.runs(!sweep.anySizeGiven());
        try (RankSite site = backend.open(machine, 1, config)) {
            return run(new MeasuredBench(site, runs, reporter), workload, config, reporter);
        }
    }

    /** Starts the processes, or does the part of one of them. Returns the number of wrong elements. */
    private long runInProcesses(int count, Config config, Reporter reporter) {
        require(count >= 2, "--processes is " + count + "; give at least 2");
        require(!sweep.hasNccl(), "--algorithm nccl runs in one process; leave --processes out");
        int named = machine.devices() == null ? count : machine.devices().indices().length;
        require(
                named == count,
                "--devices names " + Numbers.count(named, "device") + " for " + count
                        + " processes; name one for each");
        if (!JobPlace.isGiven(config, System.getenv())) {
            if (backend.choose(machine) == RankBackend.HOST) {
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
        ProcessesBench bench = new ProcessesBench(machine, place, repeated.runs(!sweep.anySizeGiven()), own);
        return backend.choose(machine) == RankBackend.CUDA
                ? bench.runOnGpus(sweep.sweeps(count, variants), config, warnings(config))
                : bench.runOnHost(sweep.sweeps(count, variants), warnings(config));
    }

    private long run(MeasuredBench bench, @Nullable Workload workload, Config config, Reporter reporter) {
        RankSite site = bench.site();
        List<Sweep> sweeps = sweep.sweeps(site.ranks(), variants);
        reporter.introduce(site.chosen(), site.devices(), site.platform(), warnings(config));
        List<AlgorithmConfig> listed = sweep.listed(variants);
        boolean takesAuto = listed.stream().anyMatch(each -> each.algorithm() == AlgorithmChoice.AUTO);
        if (site instanceof HostSite && takesAuto) {
            reporter.lines(List.of("# auto takes the star on host memory: all algorithms read and write each byte of an"
                    + " all_reduce once, and it has the fewest steps"));
        }
        if (workload != null) {
            return bench.run(workload, listed, repeated.runs());
        }
        reporter.lines(sweep.leftOut());
        return Sweep.runAll(possible(bench, sweeps, reporter), bench::run, reporter);
    }

    /** Leaves out sweeps that cannot be run, unless that is all of them: the first one says why then. */
    private static List<Sweep> possible(MeasuredBench bench, List<Sweep> sweeps, Reporter reporter) {
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

    /** Returns the warnings about settings, also that the algorithm's has no effect. */
    static List<String> warnings(Config config) {
        List<String> warnings = new ArrayList<>(config.warnings());
        if (config.find(Planner.ALGORITHM).isPresent()) {
            warnings.add(Planner.ALGORITHM.name() + " has no effect here; --algorithm names what runs");
        }
        return warnings;
    }

    private static void refuseWrong(long wrong) {
        if (wrong > 0) {
            throw new IllegalStateException(
                    wrong + (wrong == 1 ? " element is" : " elements are") + " not what the 64-bit reference says");
        }
    }

    private void refuseNonsense(@Nullable Workload workload) {
        sweep.refuseNonsense(variants);
        repeated.refuseNonsense();
        Integer gpus = machine.first();
        require(
                gpus == null || store == null || !store.overProcesses(),
                "-g has no meaning for --kvstore funnel, concum or depcha; --local-devices gives those of each");
        require(
                gpus == null || processes == null || gpus == 1,
                "-g is " + gpus + ", but each of the processes has one device; leave -g out");
        refuseNonsenseOfStores(workload);
        if (workload != null) {
            sweep.refuseBesideWorkload();
        }
        require(
                !sweep.hasNccl() || processes != null || backend.choose(machine) == RankBackend.CUDA,
                "--algorithm nccl runs on GPUs, and this measures in host memory; add --backend cuda on a machine with"
                        + " GPUs, or take 'banyan predict', which has a model of it");
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
            backend.requireHost("--compute-ms");
            require(
                    sweep.algorithms() == null && !variants.given(),
                    "--kvstore says how keys are sent; leave --algorithm, --trees and --rings out, or set"
                            + " BANYAN_ALGORITHM for --kvstore auto");
        }
    }
}
