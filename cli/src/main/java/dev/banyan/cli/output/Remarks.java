package dev.banyan.cli.output;

import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;

/** What people should know before they read the answer. */
public final class Remarks {
    private Remarks() {}

    /**
     * Prints to stdout, as a comment, where the machine comes from, and warnings to stderr.
     *
     * @param remark where the machine comes from, or null where the user said it
     */
    public static void print(CommandSpec spec, @Nullable String remark, List<String> warnings) {
        if (remark != null) {
            spec.commandLine().getOut().println("# " + TerminalText.of(remark));
        }
        printAside(spec, null, warnings);
    }

    /** The same, but all of it to stderr: for answers that have no comments. */
    public static void printAside(CommandSpec spec, @Nullable String remark, List<String> warnings) {
        PrintWriter err = spec.commandLine().getErr();
        if (remark != null) {
            err.println("note: " + TerminalText.of(remark));
        }
        warnings.forEach(warning -> err.println("warning: " + TerminalText.of(warning)));
    }
}
