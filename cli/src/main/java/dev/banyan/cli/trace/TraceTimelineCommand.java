package dev.banyan.cli.trace;

import dev.banyan.cli.output.OutputFile;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.output.TerminalText;
import dev.banyan.cli.output.TextFile;
import dev.banyan.simulate.internal.trace.RecordedTimeline;
import dev.banyan.simulate.internal.trace.Recording;
import dev.banyan.study.text.Numbers;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code banyan trace timeline}: one picture of what several processes recorded. */
@Command(
        name = "timeline",
        description = "Put what processes recorded by JDK Flight Recorder into one timeline for ui.perfetto.dev, and"
                + " print how long each kind of event took.",
        footer = {
            "",
            "Each process is a group of rows: one for each kind of Banyan's events, more",
            "where events of a kind overlap. Times are those of the machines' clocks.",
            "",
            "Example:",
            "  mpirun -np 4 java -XX:StartFlightRecording=filename=step-%%p.jfr -jar train.jar",
            "  banyan trace timeline step-*.jfr --output steps.json"
        })
final class TraceTimelineCommand extends Subcommand {
    @Parameters(
            arity = "1..*",
            paramLabel = "FILE.jfr",
            description = "Recordings of one run, one file for each process.")
    private List<Path> files = List.of();

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE.json",
            required = true,
            description = "Where the timeline goes.")
    private @Nullable OutputFile output; // required

    @Override
    public void run() {
        for (Path file : files) {
            require(Files.isRegularFile(file), "no file is called '" + file + "'");
        }
        List<Recording> recordings = files.stream().map(Recording::read).toList();
        RecordedTimeline timeline = new RecordedTimeline(recordings);
        OutputFile file = Objects.requireNonNull(output);
        TextFile.write(file.path(), (TextFile.Content) timeline::write);
        PrintWriter out = out();
        int events = recordings.stream()
                .mapToInt(recording -> recording.slices().size())
                .sum();
        out.println("# " + Numbers.count(events, "event") + " of " + Numbers.count(recordings.size(), "process") + ": "
                + file + " (open it in ui.perfetto.dev)");
        out.println("#");
        EventTimes.table(recordings).lines().forEach(line -> out.println(TerminalText.of(line)));
    }
}
