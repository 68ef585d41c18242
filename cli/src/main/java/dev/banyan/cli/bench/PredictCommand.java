package dev.banyan.cli.bench;

import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.bench.workload.WorkloadOption;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.simulate.CallBuffers;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.workload.Workload;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan predict}: what {@code bench} measures, predicted by the simulator. */
@Command(
        name = "predict",
        description = {
            "Predict how long collectives take on the links of a machine, by the simulator and a model of NCCL.",
            "Without options: a short all_reduce sweep of all algorithms. 'banyan bench' measures the same."
        },
        footer = {
            "",
            SweepArguments.COLUMNS,
            "",
            "Examples:",
            "  banyan predict --machine p3.16xlarge",
            "  banyan predict --machine dgx-a100 -b 1K -e 1G -f 4 --algorithm all,nccl",
            "  banyan predict --machine dgx-h100 --workload llama-3-8b --bucket 25M",
            "  banyan predict -b 64M -e 64M --algorithm packing --trace timeline.json"
        })
public final class PredictCommand extends ReportCommand {
    enum Buffers {
        allocated(CallBuffers.ALLOCATED),
        any(CallBuffers.ANY);

        private final CallBuffers kind;

        Buffers(CallBuffers kind) {
            this.kind = kind;
        }
    }

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final SweepArguments sweep = new SweepArguments();

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Mixin
    private final WorkloadOption workloads = new WorkloadOption();

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "The simulator's constants of the machine class (default: what fits the machine).")
    private @Nullable Profile profile;

    @Option(
            names = "--buffers",
            paramLabel = "allocated|any",
            description =
                    "Buffers of the calls: allocated by Communicator.allocateAll, or any, as gradients of PyTorch are"
                            + " (default: any for a workload, else allocated). It matters where kernels exchange"
                            + " buffers; the output says where.")
    private @Nullable Buffers buffers;

    @Option(
            names = "--trace",
            paramLabel = "FILE.json",
            description =
                    "With one algorithm: write the timeline of the largest size, or of a workload with all keys in"
                            + " flight, for ui.perfetto.dev: a row per device and per direction of a link.")
    private @Nullable OutputFile trace;

    @Option(
            names = {"-v", "--verbose"},
            description = "Also print the simulator's constants, with their sources, and ranges where they are known.")
    private boolean verbose;

    @Override
    public Optional<String> refusal(String option) {
        return List.of("-n", "--iters", "-w", "--warmup_iters", "-c", "--check").contains(option)
                ? Optional.of(option + " is for measurements, and a prediction is the same each time; leave it out")
                : option.startsWith("--backend")
                        ? Optional.of("predict needs no backend; leave --backend out, or measure by 'banyan bench'")
                        : NcclTestsOptions.refusal(option);
    }

    @Override
    public void run() {
        Workload workload = workloads.get();
        refuseNonsense(workload);
        Config config = Config.load();
        Reporter reporter = new Reporter(out(), err(), forPrograms(), sweep.plot(), this::print);
        try {
            predict(workload, config, reporter);
        } finally {
            // The rows that were predicted before a failure are not lost.
            reporter.finish();
        }
    }

    private void predict(@Nullable Workload workload, Config config, Reporter reporter) {
        ChosenMachine chosen = machine.choose(2);
        Profile constants = profile == null ? Profiles.of(chosen.machine()) : profile;
        Buffers ofCalls = buffers != null ? buffers : workload != null ? Buffers.any : Buffers.allocated;
        SimulatedBench bench = new SimulatedBench(
                chosen, constants, CudaBackendProvider.execution(config), ofCalls.kind, reporter, trace, verbose);
        List<AlgorithmConfig> algorithms = sweep.listed(variants);
        List<Sweep> sweeps =
                workload != null ? List.of() : sweep.sweeps(chosen.machine().size(), variants);
        require(trace == null || algorithms.size() == 1, "--trace shows one algorithm; name it with --algorithm");
        String how = "predicted with " + Profiles.described(chosen.machine(), constants) + bench.buffers();
        reporter.introduce(
                chosen,
                how,
                RunContext.of(chosen.machine(), bench.platform(algorithms), constants.name())
                        .ofBuffers(ofCalls.name()),
                BenchCommand.warnings(config));
        if (workload != null) {
            bench.run(workload, algorithms);
        } else {
            reporter.lines(sweep.leftOut());
            Sweep.runAll(sweeps, bench::run, reporter);
        }
    }

    private void refuseNonsense(@Nullable Workload workload) {
        sweep.refuseNonsense(variants);
        require(trace == null || !sweep.isSeveral(), "--trace shows one type and operation; name them with -d and -o");
        require(
                trace == null || buffers != Buffers.any,
                "--trace shows no copies through a staging buffer; leave --buffers out");
        require(
                !sweep.hasNccl() || trace == null,
                "--algorithm nccl is predicted as a whole call, without its copies; leave --trace out");
        if (workload != null) {
            sweep.refuseBesideWorkload();
        }
    }
}
