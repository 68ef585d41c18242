package dev.banyan.cli.trees;

import dev.banyan.cli.compare.SubsetsTable;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RelayOption;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TableFormat;
import dev.banyan.config.Config;
import dev.banyan.page.chart.SvgPacking;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.compare.SubsetSurvey;
import dev.banyan.study.compare.Subsets;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.PlannedTrees;
import dev.banyan.study.machine.TreesReport;
import dev.banyan.study.text.ChoiceText;
import dev.banyan.study.text.Names;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.packing.PackedTree;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan trees}: the trees that fit the machine. */
@Command(
        name = "trees",
        description = "Build reduction trees for a machine's links and print them.",
        footer = {
            "",
            "Devices are shown as ranks: positions in --devices. Rates are algbw at which the",
            "busiest link is full, latencies apart; the bound is what no schedule can exceed.",
            "",
            "Examples:",
            "  banyan trees --machine p3.16xlarge --algorithm packing",
            "  banyan trees --machine p3.16xlarge --devices 0-4 --trees exact --root 2",
            "  banyan trees --machine dgx-2 -a packing --collective broadcast --root 3",
            "  banyan trees --machine p3.16xlarge -a packing --devices 0,1,2,4 --relays 3,5",
            "  banyan trees --machine topo.txt -a packing --format svg > trees.svg",
            "  banyan trees --machine p3.16xlarge --all-subsets"
        })
public final class TreesCommand extends Subcommand {
    /** The values of {@code --format}. */
    enum Format {
        table,
        json,
        csv,
        svg,
        markdown
    }

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "NAME",
            description = "single-tree, multi-tree, packing, ring or star (default: multi-tree, or single-tree"
                    + " with --root).")
    private @Nullable AlgorithmChoice algorithm;

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Option(
            names = "--root",
            paramLabel = "RANK",
            description = "The root of a single tree, or of the broadcast or reduce that a packing carries (default:"
                    + " 0).")
    private @Nullable Integer root;

    @Option(
            names = "--penalty",
            paramLabel = "FACTOR",
            description = "What the weight of a link is multiplied by when a tree uses it, above 0 and at most 1"
                    + " (default: MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, or 0.7).")
    private @Nullable Double penalty;

    @Option(
            names = "--collective",
            paramLabel = "NAME",
            description =
                    "What a packing carries: all_reduce, reduce, broadcast, reduce_scatter or all_gather (default:"
                            + " all_reduce).")
    private @Nullable Collective collective;

    @Option(
            names = "--max-trees",
            paramLabel = "K",
            description = "Most trees of a packing; of reduce_scatter and all_gather, most per root (default: as many"
                    + " as the optimum takes).")
    private @Nullable Integer maxTrees;

    @Mixin
    private final RelayOption relays = new RelayOption();

    @Option(
            names = "--all-subsets",
            arity = "0..1",
            fallbackValue = "0",
            paramLabel = "SIZE",
            description =
                    "Compare the algorithms for an allreduce on every set of three devices or more that NVLink or xGMI"
                        + " joins (every set where the machine has neither), and sum up by size; with SIZE: on every"
                        + " set of that size, a line each.")
    private @Nullable Integer allSubsets;

    @Option(
            names = "--format",
            description = "table, json, csv or svg; of --all-subsets table, json, csv or markdown (default: table).")
    private Format format = Format.table;

    /** Reads the name of an algorithm that has trees. */
    public static AlgorithmChoice algorithm(String name) {
        if (name.equalsIgnoreCase(AlgorithmChoice.ONE_SHOT.label())) {
            throw new IllegalArgumentException("one-shot has no trees, all send to all; 'banyan compare' rates it");
        }
        List<AlgorithmChoice> known = AlgorithmChoice.scheduled().stream()
                .filter(choice -> choice != AlgorithmChoice.ONE_SHOT)
                .toList();
        return Names.find("algorithm", Names.of(known, AlgorithmChoice::label), name);
    }

    @Override
    public void run() {
        refuseNonsense();
        Config config = Config.load();
        double factor = penalty == null ? config.get(Algorithms.LINK_USAGE_PENALTY) : penalty;
        require(factor > 0 && factor <= 1, "--penalty is " + penalty + "; it must be above 0 and at most 1");
        ChosenMachine chosen = machine.choose(2);
        if (allSubsets != null) {
            survey(chosen, allSubsets);
            return;
        }
        int ranks = chosen.machine().size();
        require(root == null || (root >= 0 && root < ranks), "--root is " + root + "; the ranks are 0.." + (ranks - 1));
        PlannedTrees plan = switch (algorithm()) {
            case PACKING -> packing(chosen);
            case SINGLE_TREE -> balanced(chosen, config, factor, new int[] {Objects.requireNonNullElse(root, 0)});
            case MULTI_TREE ->
                balanced(chosen, config, factor, IntStream.range(0, ranks).toArray());
            default -> planned(chosen, config);
        };
        List<String> warnings = new ArrayList<>(plan.warnings());
        warnings.addAll(config.warnings());
        print(chosen, plan, warnings);
    }

    private void refuseNonsense() {
        boolean survey = allSubsets != null;
        require(!survey || algorithm == null, "--all-subsets compares algorithms; leave --algorithm out");
        require(
                !survey
                        || (root == null
                                && penalty == null
                                && !variants.given()
                                && collective == null
                                && maxTrees == null),
                "--all-subsets is about an allreduce by each algorithm as it is; leave --root, --penalty, --trees,"
                        + " --rings, --collective and --max-trees out");
        require(
                survey ? format != Format.svg : format != Format.markdown,
                survey
                        ? "--format " + format
                                + " is for one set of trees; with --all-subsets take table, json, csv or markdown"
                        : "--format markdown is for tables; take it with --all-subsets, or 'banyan compare'");
        require(
                survey || algorithm().generatesTrees() || penalty == null,
                "--penalty goes with --algorithm single-tree or multi-tree");
        require(
                survey || root == null || algorithm() == AlgorithmChoice.SINGLE_TREE || isPacking(),
                "--root goes with --algorithm single-tree or packing");
        if (!survey) {
            variants.of(List.of(algorithm())); // refuses what has no meaning for the algorithm
        }
        if (isPacking()) {
            require(
                    root == null || (collective != null && collective.hasRoot()),
                    "--root of a packing needs --collective broadcast or reduce");
            require(maxTrees == null || maxTrees >= 1, "--max-trees is " + maxTrees + "; it must be at least 1");
        } else if (!survey) {
            require(maxTrees == null && !relays.given(), "--max-trees and --relays go with --algorithm packing");
            require(collective == null, "--collective goes with --algorithm packing");
        }
    }

    private boolean isPacking() {
        return algorithm == AlgorithmChoice.PACKING;
    }

    private AlgorithmChoice algorithm() {
        return Objects.requireNonNullElse(
                algorithm, root == null ? AlgorithmChoice.MULTI_TREE : AlgorithmChoice.SINGLE_TREE);
    }

    private PlannedTrees balanced(ChosenMachine chosen, Config config, double factor, int[] roots) {
        AlgorithmConfig built = built();
        ForestGenerator generator =
                Objects.requireNonNull(built.trees(), "generator").of(factor, config.get(Algorithms.SEED));
        return timed(chosen, ChoiceText.name(built), () -> PackedTree.of(generator.generate(chosen.links(), roots)));
    }

    private PlannedTrees planned(ChosenMachine chosen, Config config) {
        AlgorithmConfig built = built();
        Planner planner = Planner.ofNamed(chosen.machine(), config);
        return timed(chosen, ChoiceText.name(built), () -> planner.trees(built, Collective.ALL_REDUCE, -1));
    }

    /** Returns the algorithm in the variant that the user asks for. */
    private AlgorithmConfig built() {
        return variants.of(List.of(algorithm())).of(algorithm());
    }

    private static PlannedTrees timed(ChosenMachine chosen, String name, Supplier<List<PackedTree>> trees) {
        long start = System.nanoTime();
        List<PackedTree> built = trees.get();
        return PlannedTrees.of(chosen, name, built, (System.nanoTime() - start) / 1e6);
    }

    private PlannedTrees packing(ChosenMachine chosen) {
        Collective carried = carried();
        int[] forwarding = relays.required(chosen);
        return PlannedTrees.packing(
                chosen, carried, rootOfCarried(), Objects.requireNonNullElse(maxTrees, Integer.MAX_VALUE), forwarding);
    }

    private Collective carried() {
        return Objects.requireNonNullElse(collective, Collective.ALL_REDUCE);
    }

    /** The root of the collective, or -1 where it has none. */
    private int rootOfCarried() {
        return carried().hasRoot() ? Objects.requireNonNullElse(root, 0) : -1;
    }

    private void print(ChosenMachine chosen, PlannedTrees plan, List<String> warnings) {
        TreesReport report = TreesReport.of(chosen, plan, warnings);
        PrintWriter out = out();
        switch (format) {
            case json, csv -> print(format, RunContext.of(chosen.machine()), report, () -> {});
            case svg -> {
                remarkAside(chosen.remark(), warnings);
                out.print(SvgPacking.of(
                        plan.packing(), plan.loads(), plan.collective().label()));
            }
            case table, markdown -> {
                remark(chosen.remark(), warnings);
                new TreesTable(report, plan).printTable(out);
            }
        }
    }

    private void survey(ChosenMachine chosen, int size) {
        relays.of(chosen); // names devices outside the chosen ones
        Function<ChosenMachine, int[]> forwarding = relays.given() ? relays::of : null;
        Subsets report;
        try {
            SubsetSurvey survey = new SubsetSurvey(chosen, size == 0 ? null : size);
            try (Progress progress = Progress.start("subsets", survey.sets(), err())) {
                report = survey.run(forwarding, progress::step);
            }
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
        print(format, RunContext.of(chosen.machine()), report, () -> {
            remark(format == Format.table ? chosen.remark() : null, chosen.warnings());
            new SubsetsTable(report, size != 0)
                    .print(out(), format == Format.markdown ? TableFormat.markdown : TableFormat.table);
        });
    }
}
