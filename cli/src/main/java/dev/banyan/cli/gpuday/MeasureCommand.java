package dev.banyan.cli.gpuday;

import dev.banyan.cli.output.Subcommand;
import dev.banyan.gpuday.Effort;
import dev.banyan.gpuday.Measurement;
import dev.banyan.gpuday.SkippedException;
import java.time.Duration;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code banyan gpu-day measure}: one measurement in this process, as lines of JSON. */
@Command(name = "measure", hidden = true, description = "What gpu-day starts for each of its measurements.")
final class MeasureCommand extends Subcommand {
    private static final String WRITES = "writes";

    @Parameters(paramLabel = "NAME", description = "The measurement.")
    private String name = ""; // replaced by picocli

    @Option(names = "--millis", description = "Time after which nothing further is begun, in ms (default: 60000).")
    private long millis = 60_000;

    @Option(names = "--quick", description = "Smallest arrays, fewest repetitions.")
    private boolean quick;

    @Override
    public void run() {
        RecordLines lines = new RecordLines(out());
        Effort effort = new Effort(quick, Duration.ofMillis(millis));
        try {
            if (name.equals(WRITES)) {
                new WriteStress(lines, quick, Duration.ofMillis(millis)).run();
                return;
            }
            Stream.of(Measurement.values())
                    .filter(measurement -> measurement.label().equals(name))
                    .findFirst()
                    .orElseThrow(() -> wrong("no measurement is called '" + name + "'"))
                    .run(lines, effort);
        } catch (SkippedException e) {
            lines.skipped(String.valueOf(e.getMessage()));
        }
    }
}
