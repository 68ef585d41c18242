package dev.banyan.cli.page;

import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.VariantOptions;
import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.output.WrittenFile;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.page.MachinePage;
import dev.banyan.page.model.Curve;
import dev.banyan.page.model.PageModel;
import dev.banyan.page.study.MeasuredCurves;
import dev.banyan.page.study.PageStudy;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan page}: a machine as an interactive page. */
@Command(
        name = "page",
        description = {
            "Write a page that shows a machine: its links, what limits an allreduce, the trees, predicted times, and"
                    + " calls as they pass over the links.",
            "The page is one HTML file. A browser opens it from disk, without a network."
        },
        footer = {
            "",
            "Examples:",
            "  banyan page --machine p3.16xlarge",
            "  banyan page --machine topo.txt --output machine.html --results nccl-tests.txt",
            "  banyan bench --backend cuda --algorithm all --format json > bench.json",
            "  banyan page --results bench.json"
        })
public final class PageCommand extends ReportCommand {
    private static final int MOST_DEVICES = 16;

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            description = "The page (default: the machine's name and .html, in this folder).")
    private @Nullable OutputFile output;

    @Option(
            names = "--results",
            paramLabel = "FILE",
            description = "Measured all_reduce times to draw beside the predicted ones: the JSON output of 'banyan"
                    + " bench', what nccl-tests print, or the folder of scripts/gpu-day.sh. May be given again.")
    private List<Path> results = List.of();

    @Mixin
    private final VariantOptions variants = new VariantOptions();

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "The simulator's constants of the machine class (default: what fits the machine).")
    private @Nullable Profile profile;

    @Override
    public void run() {
        ChosenMachine chosen = machine.choose(2);
        notePlainSums();
        Machine shown = chosen.machine();
        require(
                shown.size() <= MOST_DEVICES,
                shown.name() + " has " + shown.size() + " devices, and a page shows at most " + MOST_DEVICES
                        + "; name some by --devices");
        results.forEach(file -> require(
                Files.exists(file),
                "--results: no file is called '" + file + "'; name the output of 'banyan bench' or nccl-tests"));
        List<Curve> measured = results.stream()
                .flatMap(file -> MeasuredCurves.read(file, shown).stream())
                .toList();
        OutputFile file = output == null ? OutputFile.of(fileName(shown.name())) : output;
        Config config = Config.load();
        Profile constants = profile == null ? Profiles.of(shown) : profile;
        PageStudy study = new PageStudy(
                chosen,
                variants.of(AlgorithmChoice.scheduled()),
                config,
                constants,
                CudaBackendProvider.execution(config));
        List<String> warnings = Stream.concat(chosen.warnings().stream(), config.warnings().stream())
                .toList();
        if (forPrograms()) {
            remarkAside(chosen.remark(), warnings);
        } else {
            remark(chosen.remark(), warnings);
        }
        PageModel model;
        List<Workload> models = Workload.small();
        try (Progress progress = Progress.start("page", study.parts(models.size()), err())) {
            model = study.run(
                    Objects.requireNonNullElse(
                            PageCommand.class.getPackage().getImplementationVersion(), "not packaged"),
                    machine.described(chosen),
                    measured,
                    models,
                    progress::step);
        }
        TextFile.write(file.path(), MachinePage.html(model));
        print(
                RunContext.of(shown).with(constants.name()),
                List.of(new WrittenFile(file.toString(), "page")),
                () -> out().println("# " + TerminalText.of(shown.name()) + ": " + file + " (open it in a browser)"));
    }

    /** A name that every file system takes. */
    private static String fileName(String machine) {
        return machine.replaceAll("[^A-Za-z0-9._-]+", "-") + ".html";
    }
}
