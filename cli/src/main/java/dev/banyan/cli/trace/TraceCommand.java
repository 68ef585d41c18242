package dev.banyan.cli.trace;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

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
public final class TraceCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    /** Without a subcommand there is nothing to do but to say what there is. */
    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "which of them? "
                        + String.join(
                                " or ",
                                spec.subcommands().keySet().stream().sorted().toList()));
    }
}
