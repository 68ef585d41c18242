package dev.banyan.cli.scaling;

import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.output.WrittenFile;
import dev.banyan.page.document.ModelReport;
import dev.banyan.page.document.ScalingPage;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.cluster.ComputeRate;
import dev.banyan.study.cluster.Fabric;
import dev.banyan.study.cluster.Minsky;
import dev.banyan.study.cluster.Setup;
import dev.banyan.study.text.Names;
import dev.banyan.study.workload.Workload;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code banyan study scaling}: epoch times on many machines as a page and a picture. */
@Command(
        name = "scaling",
        description = {
            "Predict training on several machines joined by a network, by simulation.",
            "The page has the time of a step and of an epoch over the stores funnel, concum and depcha, for any number"
                    + " of machines.",
        },
        footer = {
            "",
            "Writes a page in Markdown, and a picture beside it (SVG) of the same name.",
            "The same options give the same page.",
            "",
            "Examples:",
            "  banyan study scaling --output scaling.md",
            "  banyan study scaling --output mine.md --machine dgx-1v --nics 4 --nic-gbs 12.5 --machines 1,8,128"
                    + " --workload resnet-50 --oversubscription 3"
        })
public final class ScalingCommand extends ReportCommand {
    private static final String SUFFIX = ".md";
    private static final List<String> MODELS = List.of("resnet-50", "inception-bn");

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            required = true,
            description =
                    "The page; its name ends in .md. Its folder is made if it isn't there, and files of the same names"
                            + " are replaced.")
    private String out = "";

    @Option(
            names = {"-m", "--machine"},
            paramLabel = "PRESET",
            description = "Each machine: a preset, or minsky, IBM's machine with four P100 (default: minsky).")
    private Machine machine = Minsky.machine();

    @Option(
            names = "--machines",
            paramLabel = "LIST",
            split = ",",
            description = "Numbers of machines (default: 1,4,8,16,32,64,256,4096).")
    private List<Integer> machines = List.of(1, 4, 8, 16, 32, 64, 256, 4096);

    @Option(names = "--nic-gbs", paramLabel = "GB/S", description = "Bandwidth of a NIC each way (default: 12.5).")
    private double nicGbs = 12.5;

    @Option(names = "--nics", paramLabel = "N", description = "NICs of a machine (default: 1).")
    private int nics = 1;

    @Option(names = "--latency-us", paramLabel = "US", description = "Latency of a message (default: 2).")
    private double latencyUs = 2;

    @Option(names = "--leaf", paramLabel = "N", description = "Machines of a leaf switch (default: 18).")
    private int leaf = 18;

    @Option(
            names = "--oversubscription",
            paramLabel = "TIMES",
            description = "Bandwidth of a leaf's machines by that of its links to the spine (default: 1).")
    private double oversubscription = 1;

    @Option(
            names = "--workload",
            paramLabel = "MODEL|FILE",
            split = ",",
            description = "Whose gradients: as bench has it (default: resnet-50,inception-bn).")
    private @Nullable List<Workload> workloads;

    @Option(names = "--batch", paramLabel = "N", description = "Images per GPU and step (default: 32).")
    private int batch = 32;

    @Option(
            names = "--images-per-second",
            paramLabel = "RATE",
            description = "What one GPU trains alone (default: what is published for the GPU, model and batch).")
    private @Nullable Double rate;

    /** The machine of the published figures, or a preset. */
    public static Machine machine(String name) {
        Map<String, Machine> machines = new LinkedHashMap<>();
        machines.put(Minsky.NAME, Minsky.machine());
        for (String preset : Presets.names()) {
            machines.put(preset.toLowerCase(Locale.ROOT), Machine.preset(preset));
        }
        return Names.find("machine", machines, name);
    }

    @Override
    public void run() {
        Path page = page();
        Setup setup = setup();
        List<Workload> wanted = workloads();
        List<ComputeRate> rates = wanted.stream().map(this::rate).toList();
        OutputFile file = OutputFile.makingFolder(page);
        String pictureName = name(page);
        PlotFile picture = new PlotFile(page.resolveSibling(pictureName));
        List<ModelReport> models = new ArrayList<>();
        try (Progress progress = Progress.start("scaling", wanted.size(), err())) {
            for (int i = 0; i < rates.size(); i++) {
                models.add(ModelReport.of(setup, wanted.get(i), rates.get(i)));
                progress.step();
            }
        }
        ScalingPage scaling = new ScalingPage(setup, models, arguments());
        picture.write(scaling.picture());
        TextFile.write(file.path(), scaling.text(pictureName));
        print(
                RunContext.of(machine).with(Profiles.of(machine).name()),
                List.of(
                        new WrittenFile(page.toString(), "page"),
                        new WrittenFile(picture.path().toString(), "picture")),
                () -> out().println("wrote " + page + " and its picture " + pictureName));
    }

    private Path page() {
        try {
            Path page = Path.of(out);
            require(
                    out.endsWith(SUFFIX) && page.getFileName() != null,
                    "--output: a page's name ends in .md, not '" + out + "'");
            require(!Files.isDirectory(page), "--output: " + page + " is a folder; name a file");
            return page;
        } catch (InvalidPathException e) {
            throw wrong("--output: '" + out + "' can't be a file's name");
        }
    }

    /** Returns the name of the picture beside a page. */
    private static String name(Path page) {
        String name = String.valueOf(page.getFileName());
        return name.substring(0, name.length() - SUFFIX.length()) + ".svg";
    }

    private Setup setup() {
        try {
            return Setup.of(
                    machine,
                    Profiles.of(machine),
                    new Fabric(nicGbs, nics, latencyUs, leaf, oversubscription),
                    machines.stream().sorted().distinct().toList());
        } catch (IllegalArgumentException e) {
            throw wrong(String.valueOf(e.getMessage()));
        }
    }

    private List<Workload> workloads() {
        return workloads != null
                ? workloads
                : MODELS.stream()
                        .map(model -> Objects.requireNonNull(Workload.all().get(model), model))
                        .toList();
    }

    private ComputeRate rate(Workload workload) {
        require(batch >= 1, "--batch is " + batch + "; it must be at least 1");
        Double given = rate;
        if (given != null) {
            require(
                    given > 0 && given <= 1e9,
                    "--images-per-second is " + given + "; it must be above 0 and at most 1000000000");
            require(workloads().size() <= 1, "--images-per-second is of one model; name it with --workload");
            return new ComputeRate("", workload.name(), batch, given, "option --images-per-second");
        }
        return ComputeRate.of(machine, workload.name(), batch)
                .orElseThrow(() -> wrong("nothing is published here of what one GPU of " + machine.name()
                        + " trains of " + workload.name() + " with " + batch
                        + " images per step; say it with --images-per-second"));
    }

    /** The options as the page repeats them; where it is written makes no difference but for the folder. */
    private String arguments() {
        StringBuilder all = new StringBuilder("--output FOLDER/" + Path.of(out).getFileName());
        spec().commandLine().getParseResult().matchedOptions().stream()
                .filter(option -> !option.longestName().equals("--output"))
                .forEach(option -> all.append(' ')
                        .append(option.longestName())
                        .append(' ')
                        .append(String.join(",", option.originalStringValues())));
        return all.toString();
    }
}
