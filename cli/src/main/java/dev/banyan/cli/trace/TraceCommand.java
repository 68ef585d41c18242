package dev.banyan.cli.trace;

import dev.banyan.cli.output.Subcommand;
import picocli.CommandLine.Command;

/** {@code banyan trace}: what can be done with traces. */
@Command(
        name = "trace",
        description =
                "Traces of a trainer's pushes and pulls, in the DLC format of SketchDLC, and timelines of recordings.",
        subcommands = {
            TraceRunCommand.class,
            TraceStatsCommand.class,
            TraceReplayCommand.class,
            TraceTimelineCommand.class
        })
public final class TraceCommand extends Subcommand {
    /** Without a subcommand there is nothing to do but to say what there is. */
    @Override
    public void run() {
        throw wrong("which of them? "
                + String.join(
                        " or ", spec().subcommands().keySet().stream().sorted().toList()));
    }
}
