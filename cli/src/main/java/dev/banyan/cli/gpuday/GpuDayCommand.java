package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.Numbers;
import dev.banyan.cli.output.OutputFormat;
import dev.banyan.cli.output.RunContext;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code banyan gpu-day}: measures, in one go and one folder, what needs a GPU. */
@Command(
        name = "gpu-day",
        subcommands = MeasureCommand.class,
        description = {
            "Measure on this machine's GPUs every figure that docs/gpu.md lists as open, and write it to one folder:"
                    + " a JSON file for each part, summary.json, and summary.txt for people.",
            "Each part is a process of its own with a deadline; one that fails or hangs does not end the others."
        },
        footer = {
            "",
            "Examples:",
            "  banyan gpu-day",
            "  banyan gpu-day --minutes 5 --output results",
            "  banyan gpu-day --parts cards,flags,peer-bandwidth",
            "  banyan calibrate --from results --output profile.json"
        })
public final class GpuDayCommand extends Subcommand {
    private static final int DEFAULT_MINUTES = 25;
    private static final int MOST_MINUTES = 24 * 60;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FOLDER",
            description = "Where to write; a folder that is not there or is empty (default: gpu-day- and the time).")
    private @Nullable Path output;

    @Option(names = "--minutes", paramLabel = "N", description = "Time for all parts together (default: 25).")
    private double minutes = DEFAULT_MINUTES;

    @Option(
            names = "--parts",
            paramLabel = "LIST",
            split = ",",
            description = "Run these parts only, with commas between (default: all). The part cards reports the number"
                    + " of GPUs to the others.")
    private @Nullable List<String> parts;

    @Option(
            names = "--deadline",
            paramLabel = "PART=SECONDS",
            split = ",",
            description =
                    "How long a part may run, instead of its share of the time; 0 ends it as soon as it has begun.")
    private Map<String, Integer> deadlines = new LinkedHashMap<>();

    @Option(
            names = "--quick",
            description = "Take the smallest arrays and the fewest repetitions: to try the command, not the machine.")
    private boolean quick;

    @Option(
            names = "--trainer",
            paramLabel = "CLASSPATH",
            description = "Class path of the part trainer: examples/djl-mnist with a PyTorch for CUDA (default: the"
                    + " command's own).")
    private @Nullable String trainer;

    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    private record Report(String folder, List<DaySummary.Entry> rows) {}

    @Override
    public void run() {
        require(
                minutes > 0 && minutes <= MOST_MINUTES,
                "--minutes is " + Numbers.plain(minutes) + "; it must be above 0 and at most " + MOST_MINUTES);
        deadlines.forEach((part, seconds) -> {
            requirePart("--deadline", part);
            require(seconds >= 0, "--deadline of " + part + " is " + seconds + "; it must be at least 0");
        });
        if (parts != null) {
            parts.forEach(part -> requirePart("--parts", part));
        }
        Path folder = output == null
                ? Path.of("gpu-day-"
                        + LocalDateTime.now(ZoneId.systemDefault())
                                .format(DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss")))
                : output;
        DayFolder.create(folder);
        Map<String, Duration> fixed = new LinkedHashMap<>();
        deadlines.forEach((part, seconds) -> fixed.put(part, Duration.ofSeconds(seconds)));
        Budget budget = new Budget(Duration.ofMillis(Math.round(60_000 * minutes)), fixed);
        String trainerPath = trainer == null ? System.getProperty("java.class.path") : trainer;
        Day day = new Day(
                folder,
                new DayParts(quick, folder, trainerPath).list(),
                part -> parts == null || parts.contains(part),
                budget,
                quick);
        PrintWriter progress = format == OutputFormat.json ? err() : out();
        day.run(line -> {
            progress.println(TerminalText.of(line));
            progress.flush();
        });
        List<DaySummary.Entry> rows = day.entries();
        print(
                format == OutputFormat.json,
                RunContext.NONE,
                new Report(folder.toString(), rows),
                () -> out().println("# written to " + TerminalText.of(folder.toString()) + ": see "
                        + TerminalText.of(folder.resolve(DayFolder.PAGE).toString())));
        long failed = rows.stream()
                .filter(part -> part.status() == PartResult.Status.FAILED)
                .count();
        if (failed > 0) {
            throw new IllegalStateException(
                    failed + (failed == 1 ? " part" : " parts") + " failed; see " + folder.resolve(DayFolder.PAGE));
        }
    }

    private void requirePart(String option, String part) {
        List<String> names = DayParts.names();
        require(
                names.contains(part),
                option + ": no part is called '" + part + "'; there are " + String.join(", ", names));
    }
}
