package dev.banyan.cli.output;

import com.fasterxml.jackson.databind.JsonNode;
import dev.banyan.config.Config;
import dev.banyan.schedule.plan.Algorithms;
import dev.banyan.study.text.Csv;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
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

    /** Returns a sentence on an option that the command does not have, if it can say more than that. */
    public Optional<String> refusal(String option) {
        return Optional.empty();
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

    /** Notes to stderr that figures are of plain sums if others are asked for. */
    protected final void notePlainSums() {
        String name = Algorithms.REPRODUCIBLE.name();
        if (Config.load().get(Algorithms.REPRODUCIBLE)) {
            remarkAside(
                    name + "=1 has no effect here: these times are of plain sums; 'banyan predict' prices"
                            + " reproducible ones",
                    List.of());
        }
    }

    /**
     * Returns an answer as JSON has it.
     *
     * @param report rows, or a record with the component {@code rows} and others
     */
    private JsonNode answer(RunContext context, Object report) {
        CommandSpec root = spec.root();
        String name = spec.qualifiedName().substring(root.name().length()).strip();
        String version = root.version().length == 0 ? "" : root.version()[0];
        return Answer.of(name, version.substring(version.indexOf(' ') + 1), context, report);
    }

    /**
     * Prints an answer.
     *
     * @param format a value of {@code --format}; those but json and csv are for people
     * @param report rows, or a record with the component {@code rows} and others
     * @param table prints it for people
     */
    protected final void print(Enum<?> format, RunContext context, Object report, Runnable table) {
        switch (format.name()) {
            case "json" -> out().println(answer(context, report).toPrettyString());
            case "csv" -> Csv.print(out(), answer(context, report).get("rows"));
            default -> table.run();
        }
    }
}
