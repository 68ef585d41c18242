package dev.banyan.cli.output;

/** The values of {@code --format} for tables that may go into a document. */
public enum TableFormat {
    /** For people. */
    table,
    /** For programs: nothing but JSON on stdout. */
    json,
    /** For spreadsheets: the rows alone. */
    csv,
    /** For documents: tables in Markdown, comments as text. */
    markdown
}
