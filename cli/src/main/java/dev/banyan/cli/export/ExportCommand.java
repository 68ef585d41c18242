package dev.banyan.cli.export;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.Assumptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.export.NcclLimits;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.export.ExportedText;
import dev.banyan.study.export.MscclppExport;
import dev.banyan.study.export.MscclppGain;
import dev.banyan.study.export.MscclppPlans;
import dev.banyan.study.export.NcclExport;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.Variants;
import dev.banyan.study.text.ByteSize;
import dev.banyan.study.text.Names;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.NoPeerAccess;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan export}: rings, trees and schedules for runtimes that run on GPUs today. */
@Command(
        name = "export",
        description = "Write the best rings, trees or schedules of a machine for NCCL, RCCL or MSCCL++.",
        footer = {
            "",
            "nccl: a graph file, whose rings NCCL takes in place of those that it would search.",
            "rccl: lines for a shell that set NCCL_RINGS and, as a comment, RCCL_TREES.",
            "mscclpp: a plan of --algorithm in JSON, or with --folder a set of plans by size",
            "and the Python that registers them.",
            "",
            "Examples:",
            "  (nvidia-smi -L; nvidia-smi topo -m; nvidia-smi topo -p2p r; lscpu) > topo.txt",
            "  banyan export --for nccl -m topo.txt --socket-gbs 64 -o graph.xml",
            "  banyan export --for nccl -m p3.16xlarge --devices 0-3 --nccl 2.27.5 > graph.xml",
            "  banyan export --for rccl -m mi250x8",
            "  banyan export --for mscclpp -m p3.16xlarge --folder plans",
            "  banyan export --for mscclpp -m p3.16xlarge -a ring --collective all_gather > ring.json"
        })
public final class ExportCommand extends Subcommand {
    /** The values of {@code --for}. */
    enum Target {
        nccl,
        rccl,
        mscclpp
    }

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(names = "--for", required = true, description = "nccl, rccl or mscclpp.")
    private Target target = Target.nccl;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "Write the file there, and the remarks to stdout (default: the file to stdout, remarks to"
                    + " stderr).")
    private @Nullable OutputFile output;

    @Option(
            names = "--nccl",
            paramLabel = "VERSION",
            description =
                    "NCCL's version, e.g. 2.27.5: from 2.25.1 on a file may have 32 channels (default: at most 16,"
                            + " which all versions take).")
    private @Nullable String version;

    @Option(
            names = "--nccl-socket-gbs",
            paramLabel = "GBS",
            description = "Between two sockets one way in GB/s as NCCL counts it: 6 to 40 by the CPU, e.g. 16 for AMD"
                    + " before 2.31 (default: that of the CPU if the description names it).")
    private @Nullable Double assumedSocketGbs;

    @Option(names = "--force", description = "Write a file even if it is of no use.")
    private boolean force;

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "NAME",
            description = "Of a plan for MSCCL++: single-tree, multi-tree, packing or ring.")
    private @Nullable PlanAlgorithm algorithm;

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            description = "Of a plan for MSCCL++: all_reduce, all_gather, reduce_scatter or broadcast (default:"
                    + " all_reduce).")
    private @Nullable Collective collective;

    @Option(names = "--root", paramLabel = "RANK", description = "The root of a broadcast (default: 0).")
    private @Nullable Integer root;

    @Option(
            names = "--out-of-place",
            description = "Make a plan for MSCCL++ for calls out of place; those of PyTorch's all_reduce are in place.")
    private boolean outOfPlace;

    @Option(
            names = "--folder",
            paramLabel = "FOLDER",
            description = "Write a set of plans for MSCCL++ there: a single tree for small calls, and the plan of the"
                    + " highest rate by the links for large ones (for all that fit it, where it needs fewer hops).")
    private @Nullable Path folder;

    /** An algorithm that a plan for MSCCL++ can have. */
    public record PlanAlgorithm(AlgorithmChoice choice) {
        private static final List<AlgorithmChoice> CHOICES = List.of(
                AlgorithmChoice.SINGLE_TREE, AlgorithmChoice.MULTI_TREE, AlgorithmChoice.PACKING, AlgorithmChoice.RING);

        public static PlanAlgorithm of(String name) {
            return new PlanAlgorithm(Names.find("algorithm", Names.of(CHOICES, AlgorithmChoice::label), name));
        }
    }

    @Override
    public void run() {
        require(
                target == Target.nccl || (version == null && assumedSocketGbs == null),
                "--nccl and --nccl-socket-gbs go with --for nccl");
        require(
                assumedSocketGbs == null || assumedSocketGbs > 0,
                "--nccl-socket-gbs is " + assumedSocketGbs + "; it must be above 0");
        require(
                target == Target.mscclpp
                        || (algorithm == null && collective == null && root == null && folder == null && !outOfPlace),
                "--algorithm, --collective, --root, --out-of-place and --folder go with --for mscclpp");
        require(
                target == Target.mscclpp || !variants.namesTrees(),
                "--trees goes with --for mscclpp; NCCL and RCCL take rings, which --rings limits");
        require(
                target != Target.mscclpp || (algorithm == null) != (folder == null),
                "--for mscclpp needs either --folder for a set of plans, or --algorithm for one");
        require(folder == null || output == null, "--folder and --output exclude each other");
        ChosenMachine chosen = machine.choose(2);
        remarkAside(
                chosen.remark(),
                Stream.concat(chosen.machine().warnings().stream(), Assumptions.line(chosen.assumed()).stream())
                        .toList());
        if (target == Target.mscclpp) {
            plans(chosen);
            return;
        }
        require(
                target == Target.rccl || !NcclLimits.rcclRunsOn(chosen.whole()),
                "NCCL does not run on AMD's GPUs; write --for rccl");
        require(
                target == Target.nccl || !NcclLimits.isOfNvidia(chosen.whole()),
                "RCCL does not run on NVIDIA's GPUs; write --for nccl");
        Variants named = variants.of(List.of(AlgorithmChoice.RING));
        NcclExport export = NcclExport.of(
                chosen, Math.min(named.rings(), mostChannels(chosen.machine().size())));
        String useless = target == Target.nccl ? export.uselessnessOfGraph() : export.uselessness();
        if (useless != null && !force) {
            throw new IllegalStateException("nothing is written: " + useless
                    + ", so let it search (--force writes the file all the same"
                    + (NoPeerAccess.betweenAll(chosen.machine())
                            ? ""
                            : "; --for mscclpp --folder plans writes plans for MSCCL++")
                    + ")");
        }
        print(
                target == Target.nccl
                        ? export.graph(path("graph.xml"), assumedSocketGbs)
                        : export.variables(path("rings.sh")));
    }

    private void plans(ChosenMachine chosen) {
        Collective carried = Objects.requireNonNullElse(collective, Collective.ALL_REDUCE);
        require(
                carried != Collective.REDUCE,
                "--collective reduce: MSCCL++ takes plans for all_reduce, all_gather, reduce_scatter and broadcast");
        int ranks = chosen.machine().size();
        require(root == null || carried.hasRoot(), "--root goes with --collective broadcast");
        int from = carried.hasRoot() ? Objects.requireNonNullElse(root, 0) : -1;
        require(from < ranks && (root == null || from >= 0), "--root is " + root + "; the ranks are 0.." + (ranks - 1));
        if (algorithm != null) {
            AlgorithmConfig one = variants.of(List.of(algorithm.choice())).of(algorithm.choice());
            MscclppExport plan = MscclppExport.of(chosen, one, carried, from, !outOfPlace);
            print(new ExportedText(
                    plan.file(),
                    List.of(),
                    List.of(
                            plan.remark(),
                            MscclppGain.sentence(chosen, carried, plan.rate().doubleValue()))));
            return;
        }
        MscclppPlans set =
                MscclppPlans.of(chosen, variants.of(AlgorithmChoice.scheduled()), carried, from, !outOfPlace);
        remarkAside(null, set.leftOut());
        Path at = Objects.requireNonNull(folder);
        for (MscclppExport plan : set.plans()) {
            TextFile.write(
                    OutputFile.makingFolder(at.resolve(plan.algorithm() + ".json"))
                            .path(),
                    plan.file());
            out().println("# " + TerminalText.of(plan.remark()));
        }
        TextFile.write(at.resolve("banyan_plans.py"), set.selector());
        out().println("# "
                + TerminalText.of("wrote " + Numbers.count(set.plans().size(), "plan")
                        + " and banyan_plans.py to " + at
                        + (set.plans().size() == 1
                                ? ""
                                : set.leastBytes().getLast() == 0
                                        ? "; banyan_plans.py takes the second plan where the first does not fit"
                                        : "; banyan_plans.py takes the second plan, that of the highest rate by the"
                                                + " links, from "
                                                + new ByteSize(set.leastBytes().getLast()).label() + " on")
                        + "; " + (NcclLimits.rcclRunsOn(chosen.whole()) ? "RCCL" : "NCCL")
                        + " carries calls that no plan fits; call"
                        + " banyan_plans.register(rank) before init_process_group, and start as that file says"));
        out().println("# " + MscclppGain.sentence(chosen, carried, set.rateGbs()));
    }

    private int mostChannels(int devices) {
        if (version == null) {
            return (target == Target.rccl ? NcclLimits.RCCL : NcclLimits.ANY).channelsOf(devices);
        }
        try {
            return NcclLimits.of(version).channelsOf(devices);
        } catch (IllegalArgumentException e) {
            throw wrong("--nccl: " + e.getMessage());
        }
    }

    private String path(String usual) {
        return output == null
                ? "$PWD/" + usual
                : output.path().toAbsolutePath().normalize().toString();
    }

    private void print(ExportedText text) {
        PrintWriter aside = output == null ? err() : out();
        if (output == null) {
            out().print(text.file());
        } else {
            TextFile.write(output.path(), text.file());
            aside.println("# wrote " + TerminalText.of(output.toString()));
        }
        text.remarks().forEach(remark -> aside.println("# " + TerminalText.of(remark)));
        text.use().forEach(line -> aside.println(TerminalText.of(line)));
    }
}
