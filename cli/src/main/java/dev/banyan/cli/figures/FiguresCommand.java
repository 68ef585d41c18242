package dev.banyan.cli.figures;

import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.Progress;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.TextFile;
import dev.banyan.cli.output.WrittenFile;
import dev.banyan.page.chart.Picture;
import dev.banyan.page.document.FiguresPage;
import dev.banyan.page.document.FiguresPictures;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.figures.ArrayBound;
import dev.banyan.study.figures.InFlight;
import dev.banyan.study.figures.Speedups;
import dev.banyan.study.figures.Throughput;
import dev.banyan.topology.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code banyan study figures}: the original design's figures as files. */
@Command(
        name = "figures",
        description = {
            "Make the figures of the original design of topology-aware trees again, by simulation.",
            "They show push-pulls in flight, the array bound, and speed-ups of training steps, on p3.16xlarge.",
        },
        footer = {
            "",
            "Writes pictures (SVG and PNG), their data (CSV), and a page that shows them, figures.md.",
            "The same profile gives the same data.",
            "",
            "Examples:",
            "  banyan study figures --output figures",
            "  banyan study figures --output figures --profile my-p3.json"
        })
public final class FiguresCommand extends ReportCommand {
    private static final String MACHINE = "p3.16xlarge";
    private static final String BOUND_MODEL = "vgg-16";
    private static final int BOUND_BATCH = 4;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "DIR",
            required = true,
            description = "Folder for the files; made if it isn't there. Files of the same names are replaced.")
    private String out = "";

    @Option(
            names = "--profile",
            paramLabel = "NAME|FILE",
            description = "Constants of the simulated machine: a profile that comes with Banyan, or a JSON file"
                    + " (default: v100-nvlink).")
    private @Nullable Profile profile;

    @Override
    public void run() {
        Path folder = folder();
        Machine machine = Machine.preset(MACHINE);
        Profile constants = profile == null ? Profiles.of(machine) : profile;
        int steps = InFlight.steps() + ArrayBound.steps() + Speedups.steps();
        InFlight inFlight;
        ArrayBound arrayBound;
        Speedups speedups;
        try (Progress progress = Progress.start("figures", steps, err())) {
            inFlight = InFlight.of(machine, constants, progress::step);
            arrayBound = ArrayBound.of(machine, constants, Speedups.step(boundCase()), progress::step);
            speedups = Speedups.of(machine, constants, progress::step);
        }
        List<WrittenFile> written = new ArrayList<>();
        Path page = folder.resolve("figures.md");
        TextFile.write(page, new FiguresPage(MACHINE, constants.name(), inFlight, arrayBound, speedups).text());
        written.add(new WrittenFile(page.toString(), "page"));
        picture(folder, "in-flight", FiguresPictures.of(inFlight), written);
        picture(folder, "array-bound", FiguresPictures.of(arrayBound), written);
        text(folder.resolve("in-flight.csv"), inFlight.csv(), "data", written);
        text(folder.resolve("array-bound.csv"), arrayBound.csv(), "data", written);
        text(folder.resolve("speed-ups.csv"), speedups.csv(), "data", written);
        print(
                RunContext.of(machine).with(constants.name()),
                written,
                () -> out().println("wrote " + folder.resolve("figures.md") + ", its pictures and their data"));
    }

    private static Throughput boundCase() {
        return Throughput.all().stream()
                .filter(each -> each.model().equals(BOUND_MODEL) && each.batch() == BOUND_BATCH)
                .findFirst()
                .orElseThrow();
    }

    private Path folder() {
        require(!out.isBlank(), "--output needs the name of a folder");
        try {
            Path folder = Path.of(out);
            require(!Files.exists(folder) || Files.isDirectory(folder), "--output: " + folder + " is not a folder");
            Path made = Files.createDirectories(folder);
            // Before the work: whether pictures can be written.
            new PlotFile(made.resolve("in-flight.svg"));
            return made;
        } catch (InvalidPathException e) {
            throw wrong("--output: '" + out + "' can't be a folder's name");
        } catch (IOException e) {
            throw new UncheckedIOException("can't make the folder " + out + ": " + e.getMessage(), e);
        }
    }

    private static void text(Path file, List<String> lines, String shows, List<WrittenFile> written) {
        TextFile.write(file, lines);
        written.add(new WrittenFile(file.toString(), shows));
    }

    private static void picture(Path folder, String name, Picture picture, List<WrittenFile> written) {
        Path file = folder.resolve(name + ".svg");
        new PlotFile(file).write(picture);
        written.add(new WrittenFile(file.toString(), "picture"));
    }
}
