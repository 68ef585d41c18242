package dev.banyan.cli;

import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.output.Json;
import dev.banyan.reduce.Config;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.trees.Forest;
import dev.banyan.trees.ForestGenerator;
import dev.banyan.trees.render.DotForest;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code banyan trees}: the reduction trees that fit the machine. */
@Command(
        name = "trees",
        description = "Build reduction trees for a machine's links and show them.",
        footer = {
            "",
            "Devices are shown as ranks: positions in --devices.",
            "",
            "Examples:",
            "  banyan trees --machine p3.16xlarge",
            "  banyan trees --machine p3.16xlarge --devices 0-4 --algorithm exact --root 2",
            "  banyan trees --machine topo.txt --format dot | dot -Tsvg > trees.svg"
        })
final class TreesCommand implements Runnable {
    /** What {@code --format} chooses from. */
    enum Format {
        table,
        json,
        dot
    }

    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "NAME",
            converter = TreeAlgorithm.Converter.class,
            description = "kernighan-lin, exhaustive or exact (default: kernighan-lin, or exact where"
                    + " MXNET_KVSTORE_TREE_BACKTRACK=1).")
    private @Nullable TreeAlgorithm algorithm;

    @Option(
            names = "--root",
            paramLabel = "RANK",
            description = "One tree with this root (default: one tree per rank).")
    private @Nullable Integer root;

    @Option(
            names = "--penalty",
            paramLabel = "FACTOR",
            description = "What the weight of a link is multiplied by when a tree uses it, above 0 and at most 1"
                    + " (default: MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY, or 0.7).")
    private @Nullable Double penalty;

    @Option(names = "--format", description = "table, json or dot (default: table).")
    private Format format = Format.table;

    @Override
    public void run() {
        Config config = Config.load();
        double factor = penalty == null ? config.linkUsagePenalty() : penalty;
        if (!(factor > 0 && factor <= 1)) {
            throw new ParameterException(
                    spec.commandLine(), "--penalty is " + penalty + "; it must be above 0 and at most 1");
        }
        ChosenMachine chosen = machine.choose(2);
        LinkMatrix links = chosen.links();
        int[] roots = roots(links.size());
        ForestGenerator generator =
                (algorithm == null ? TreeAlgorithm.of(config) : algorithm).generator(factor, config.seed());
        long start = System.nanoTime();
        Forest forest = generator.generate(links, roots);
        double generationMs = (System.nanoTime() - start) / 1e6;
        List<String> warnings = new ArrayList<>(chosen.warnings());
        warnings.addAll(config.warnings());
        TreesReport report =
                TreesReport.of(chosen.machine(), links, generator.name(), generationMs, forest, warnings);
        PrintWriter out = spec.commandLine().getOut();
        switch (format) {
            case json -> Json.print(out, report);
            case dot -> out.println(DotForest.of(forest, links).stripTrailing());
            case table -> {
                Remarks.print(spec, chosen.remark(), warnings);
                report.printTable(out, forest);
            }
        }
        out.flush();
    }

    private int[] roots(int ranks) {
        if (root == null) {
            return IntStream.range(0, ranks).toArray();
        }
        if (root < 0 || root >= ranks) {
            throw new ParameterException(spec.commandLine(), "--root is " + root + "; the ranks are 0.." + (ranks - 1));
        }
        return new int[] {root};
    }
}
