package dev.banyan.cli.output;

import picocli.CommandLine.Option;

/** A command whose answer is a table, JSON or CSV. */
public abstract class ReportCommand extends Subcommand {
    @Option(names = "--format", description = "table, json or csv, which has the rows alone (default: table).")
    private OutputFormat format = OutputFormat.table;

    /** Returns whether the answer is for programs and stands alone on stdout. */
    protected final boolean forPrograms() {
        return format != OutputFormat.table;
    }

    /** Prints an answer for programs; else as {@link #print}. */
    protected final void print(RunContext context, Object report) {
        print(format, context, report, () -> {});
    }

    /**
     * Prints an answer in the chosen format.
     *
     * @param report rows, or a record with the component {@code rows} and others
     * @param table prints it for people
     */
    protected final void print(RunContext context, Object report, Runnable table) {
        print(format, context, report, table);
    }
}
