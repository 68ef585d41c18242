package dev.banyan.cli;

import dev.banyan.cli.input.ChosenMachine;
import java.io.PrintWriter;
import picocli.CommandLine.Model.CommandSpec;

/** What people should know about the machine before they read the answer. */
final class Remarks {
    private Remarks() {}

    /** Prints where the machine comes from to stdout, as a comment, and its warnings to stderr. */
    static void print(CommandSpec spec, ChosenMachine chosen) {
        PrintWriter out = spec.commandLine().getOut();
        if (chosen.remark() != null) {
            out.println("# " + chosen.remark());
        }
        PrintWriter err = spec.commandLine().getErr();
        chosen.warnings().forEach(warning -> err.println("warning: " + warning));
    }
}
