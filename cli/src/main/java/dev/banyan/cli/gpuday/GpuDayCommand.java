package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.Subcommand;
import dev.banyan.gpuday.DayPart;
import dev.banyan.gpuday.Effort;
import dev.banyan.gpuday.RecordLines;
import dev.banyan.gpuday.SkippedException;
import dev.banyan.gpuday.WriteStress;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code banyan gpu-day}: one measurement of this machine's GPUs, as lines of JSON. */
@Command(
        name = "gpu-day",
        description = {
            "Measure one of the figures that docs/gpu.md lists as open, on this machine's GPUs.",
            "Each line of the output is one figure, fact or note, as JSON. scripts/gpu-day.sh runs all parts and writes"
                    + " the folder that calibrate reads."
        },
        footer = {
            "",
            "Examples:",
            "  banyan gpu-day flags",
            "  scripts/gpu-day.sh -o results && banyan calibrate --from results --output profile.json"
        })
public final class GpuDayCommand extends Subcommand {
    private static final String WRITES = "writes";

    @Parameters(
            paramLabel = "PART",
            description =
                    "cards, graph-launch, kernel-launch, kernel-end, flags, reductions, copies-at-once, peer-bandwidth,"
                            + " multicast, or writes.")
    private String part = ""; // replaced by picocli

    @Option(
            names = "--seconds",
            paramLabel = "N",
            description = "Time after which nothing further is begun (default: 60).")
    private int seconds = 60;

    @Option(
            names = "--quick",
            description = "Take the smallest arrays and the fewest repetitions: to try the command, not the machine.")
    private boolean quick;

    @Override
    public void run() {
        RecordLines lines = new RecordLines(out());
        Duration time = Duration.ofSeconds(seconds);
        if (quick) {
            lines.fact(RecordLines.QUICK, Map.of(), "yes");
        }
        try {
            if (part.equals(WRITES)) {
                new WriteStress(lines, quick, time).run();
            } else {
                measurement().run(lines, new Effort(quick, time));
            }
        } catch (SkippedException e) {
            lines.note("skipped: " + e.getMessage());
        }
    }

    private DayPart measurement() {
        return Stream.of(DayPart.values())
                .filter(each -> each.label().equals(part))
                .findFirst()
                .orElseThrow(() -> wrong("no part is called '" + part + "'; --help lists them"));
    }
}
