package dev.banyan.cli.output;

/** What {@code --format} chooses from where there is nothing else. */
public enum OutputFormat {
    /** For people. */
    table,
    /** For programs: nothing but JSON on stdout. */
    json
}
