package dev.banyan.cli.trace;

import dev.banyan.cli.output.PlotFile;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.dlc.internal.statistics.DlcStatistics;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan trace stats}: statistics of a traced run. */
@Command(
        name = "stats",
        description = "Sizes of messages, volume, overheads, phases and overlap of a traced run.",
        footer = {
            "",
            "Initialisation and setup are left out of all but the numbers of records.",
            "computation: from when a worker has a key's value until it pushes the key's next",
            "gradient. push: from there until the push is acknowledged. wait: from there",
            "until the worker asks for the value. pull: from there until it has the value.",
            "synchronisation: from the first worker's gradient of a key at its server to the",
            "last one's. update: from there until the server acknowledges. search: from the",
            "request for a value until the server sends it. The last three need the traces",
            "of servers, the others those of workers.",
            "An iteration of a worker begins when it has all values of the one before. It",
            "computes until its last push; it communicates while any key is between its push",
            "and the end of its pull. The overlap ratio is the share of the communication",
            "that goes on while it computes.",
            "",
            "Examples:",
            "  banyan trace stats worker-0.txt",
            "  banyan trace stats worker-*.txt server-*.txt --format json",
            "  banyan trace stats traces/*.txt --plot distributions.svg"
        })
final class TraceStatsCommand extends ReportCommand {
    @Mixin
    private final TraceFiles files = new TraceFiles();

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Draw the distributions: what share of messages is at most how long, and of overheads at most"
                    + " how great.")
    private @Nullable PlotFile plot;

    @Override
    public void run() {
        DlcStatistics statistics = DlcStatistics.of(files.read());
        StatsReport report = StatsReport.of(statistics);
        if (plot != null) {
            plot.write(StatsPicture.of(statistics));
        }
        print(RunContext.NONE, report, () -> report.print(out()));
    }
}
