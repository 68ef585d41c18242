package dev.banyan.cli.output;

/**
 * A file that a command has written, as JSON has it.
 *
 * @param file its path
 * @param shows what it is: page, picture or data
 */
public record WrittenFile(String file, String shows) {}
