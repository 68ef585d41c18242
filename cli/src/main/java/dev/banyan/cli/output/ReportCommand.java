package dev.banyan.cli.output;

import picocli.CommandLine.Option;

/** A command whose answer is a table or JSON. */
public abstract class ReportCommand extends Subcommand {
    @Option(names = "--format", description = "table or json (default: table).")
    private OutputFormat format = OutputFormat.table;

    /** Returns whether the answer is JSON, which stands alone on stdout. */
    protected final boolean json() {
        return format == OutputFormat.json;
    }

    /**
     * Prints an answer as JSON, or for people.
     *
     * @param report rows, or a record with the component {@code rows} and others
     * @param table prints it for people
     */
    protected final void print(RunContext context, Object report, Runnable table) {
        print(json(), context, report, table);
    }
}
