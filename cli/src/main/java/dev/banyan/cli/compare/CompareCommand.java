package dev.banyan.cli.compare;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RelayOption;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.config.Config;
import dev.banyan.config.internal.BoundedInput;
import dev.banyan.config.internal.UnreadableFileException;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.export.NcclGraphReader;
import dev.banyan.export.mscclpp.PlanReader;
import dev.banyan.export.mscclpp.PlanTrace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Execution;
import dev.banyan.schedule.plan.TreeGenerator;
import dev.banyan.simulate.Profiles;
import dev.banyan.simulate.SimulatedCosts;
import dev.banyan.study.compare.Comparison;
import dev.banyan.study.compare.ImportedGraph;
import dev.banyan.study.compare.ImportedSchedule;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.OtherGpus;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.workload.PredictedExecution;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan compare}: how fast an allreduce can be, and how close each way to carry it comes. */
@Command(
        name = "compare",
        description = {
            "Compare the algorithms for a large allreduce: rate, and ratio to the bound.",
            "Rates are algbw at which the busiest link is full, latencies apart."
        },
        footer = {
            "",
            "single-tree, multi-tree: one balanced binary tree, or one for each device.",
            "packing: trees packed into the links. ring: the rings that carry most together,",
            "each one way around, over all links where NVLink or xGMI has no ring.",
            "star: all to the first device and back. one-shot: all send all to all.",
            "nccl: NCCL's rings, or its reduction in switches, over the same links.",
            "algbw: of a large call, by the links alone.",
            "predicted: algbw of 1 GiB by the simulator, as banyan predict prints it.",
            "depth: hops from a root (for rings: a segment's first device) to the last.",
            "trees: their number, or that of different rings, each one way around.",
            "planning: the least time to build the trees, warm.",
            "Schedules of files are rated as if the data of each pair took the shortest way,",
            "and set against the bound of their own collective.",
            "",
            "Examples:",
            "  banyan compare --machine p3.16xlarge",
            "  banyan compare --machine p3.16xlarge --devices 0,1,2,4 --relays others",
            "  banyan compare --machine p3.16xlarge --schedule plan.json --schedule graph.xml",
            "  banyan compare --machine topo.txt --format markdown"
        })
public final class CompareCommand extends Subcommand {
    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Mixin
    private final RelayOption relays = new RelayOption();

    @Option(
            names = "--schedule",
            paramLabel = "FILE",
            description =
                    "A schedule to compare: a plan for MSCCL++ (JSON) for as many ranks as there are devices, or a"
                            + " graph file of NCCL (XML) for the same devices. May be given again.")
    private List<Path> schedules = List.of();

    @Option(names = "--format", description = "table, json, csv or markdown (default: table).")
    private TableFormat format = TableFormat.table;

    @Override
    public void run() {
        ChosenMachine chosen = machine.choose(2);
        notePlainSums();
        int[] forwarding = relays.required(chosen);
        List<ImportedSchedule> imported = new ArrayList<>();
        List<ImportedGraph> graphs = new ArrayList<>();
        for (Path file : schedules) {
            String text = text(file);
            if (NcclGraphReader.recognizes(text)) {
                graphs.add(ImportedGraph.of(file.toString(), text, chosen));
            } else if (text.stripLeading().startsWith("{")) {
                imported.add(imported(file, text, chosen));
            } else {
                throw wrong("--schedule: " + file
                        + " has no schedule; name a plan for MSCCL++ (JSON) or a graph file of NCCL (XML)");
            }
        }
        Comparison report;
        Execution execution = CudaBackendProvider.execution(Config.load());
        List<AlgorithmConfig> algorithms = algorithms();
        try (Progress progress = Progress.start("compare", algorithms.size() + 1L, err())) {
            report = Comparison.of(chosen, forwarding, algorithms, imported, graphs, execution, progress::step);
        }
        print(format, RunContext.of(chosen.machine()), report, () -> {
            remark(format == TableFormat.table ? chosen.remark() : null, report.warnings());
            PredictedExecution predicted = PredictedExecution.of(
                    chosen.machine(),
                    algorithms,
                    new SimulatedCosts(chosen.machine(), Profiles.of(chosen.machine()), execution),
                    false);
            new CompareTable(report, predicted, OtherGpus.remark(chosen.machine())).print(out(), format);
        });
    }

    /** Returns the algorithms with schedules; multi-trees by two generators where the user names none. */
    private List<AlgorithmConfig> algorithms() {
        Variants chosen = variants.of(AlgorithmChoice.scheduled());
        return AlgorithmChoice.scheduled().stream()
                .map(chosen::of)
                .flatMap(algorithm -> algorithm.algorithm() == AlgorithmChoice.MULTI_TREE && !variants.namesTrees()
                        ? Stream.of(TreeGenerator.KERNIGHAN_LIN, TreeGenerator.EXACT)
                                .map(algorithm::withTrees)
                        : Stream.of(algorithm))
                .toList();
    }

    private String text(Path file) {
        require(Files.exists(file), "--schedule: no file is called '" + file + "'");
        try {
            return BoundedInput.USUAL.text(file);
        } catch (UnreadableFileException e) {
            throw new UncheckedIOException(
                    "--schedule: " + file + ": " + e.reason() + "; name a plan for MSCCL++ or a graph file of NCCL", e);
        }
    }

    /**
     * Reads a plan.
     *
     * @throws dev.banyan.InputException if it is not a right plan
     * @throws dev.banyan.schedule.ScheduleException if its result is wrong
     */
    private ImportedSchedule imported(Path file, String text, ChosenMachine chosen) {
        ImportedSchedule imported = new ImportedSchedule(
                file.toString(), PlanTrace.schedule(file.toString(), PlanReader.read(file.toString(), text)));
        int ranks = imported.schedule().ranks();
        int devices = chosen.machine().size();
        if (ranks != devices) {
            throw wrong("--schedule " + file + " is for " + ranks + " ranks, and " + devices + " devices are compared"
                    + (ranks < 2 || ranks > chosen.whole().size()
                            ? "; name a machine with as many by --machine"
                            : "; name " + ranks + " by --devices, in the order of its ranks"));
        }
        return imported;
    }
}
