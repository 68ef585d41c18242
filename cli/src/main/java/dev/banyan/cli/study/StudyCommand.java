package dev.banyan.cli.study;

import dev.banyan.cli.figures.FiguresCommand;
import dev.banyan.cli.output.Subcommand;
import dev.banyan.cli.scaling.ScalingCommand;
import picocli.CommandLine.Command;

/** {@code banyan study}: pages about the original design and about many machines. */
@Command(
        name = "study",
        description = "Write the original design's figures, or how training scales over many machines, by simulation.",
        subcommands = {FiguresCommand.class, ScalingCommand.class})
public final class StudyCommand extends Subcommand {
    /** Without a subcommand nothing can be done. */
    @Override
    public void run() {
        throw wrong("which of them? figures or scaling");
    }
}
