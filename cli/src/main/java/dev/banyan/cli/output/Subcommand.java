package dev.banyan.cli.output;

import java.io.PrintWriter;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A command: where it writes to, and how it rejects wrong usage. */
public abstract class Subcommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    /** The command's options and subcommands. */
    protected final CommandSpec spec() {
        return spec;
    }

    /** Standard output; whoever starts the command flushes it at the end. */
    protected final PrintWriter out() {
        return spec.commandLine().getOut();
    }

    /** Standard error. */
    protected final PrintWriter err() {
        return spec.commandLine().getErr();
    }

    /** Makes the exception that ends the command as wrong usage. */
    protected final ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** Rejects the usage unless the condition holds. */
    protected final void require(boolean condition, String message) {
        if (!condition) {
            throw wrong(message);
        }
    }

    /**
     * Prints to stdout, as a comment, where the machine comes from, and warnings to stderr.
     *
     * @param remark where the machine comes from, or null where the user said it
     */
    protected final void remark(@Nullable String remark, List<String> warnings) {
        if (remark != null) {
            out().println("# " + TerminalText.of(remark));
        }
        remarkAside(null, warnings);
    }

    /** The same, but all of it to stderr: for answers that have no comments. */
    protected final void remarkAside(@Nullable String remark, List<String> warnings) {
        if (remark != null) {
            err().println("note: " + TerminalText.of(remark));
        }
        warnings.forEach(warning -> err().println("warning: " + TerminalText.of(warning)));
    }

    /**
     * Prints an answer: the report alone as JSON, or for people.
     *
     * @param table prints it for people
     */
    protected final void print(boolean json, Object report, Runnable table) {
        if (json) {
            Json.print(out(), report);
        } else {
            table.run();
        }
    }
}
