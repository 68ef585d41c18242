package dev.banyan.cli.output;

/** The values of {@code --format} for commands without further ones. */
public enum OutputFormat {
    /** For people. */
    table,
    /** For programs: nothing but JSON on stdout. */
    json,
    /** For spreadsheets: the rows alone. */
    csv
}
