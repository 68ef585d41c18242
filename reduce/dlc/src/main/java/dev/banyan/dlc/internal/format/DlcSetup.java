package dev.banyan.dlc.internal.format;

import java.util.Objects;

/**
 * A command between nodes that belongs to no key; files have no more columns for it.
 *
 * @param id number of the record
 * @param src node that sent it
 * @param dst node that received it
 * @param length length in bytes
 * @param command its name, e.g. {@code SendCom_TO_Servers}: letters, digits and underscores
 */
public record DlcSetup(int id, int src, int dst, long length, String command) implements DlcRecord {
    /** The value of the column num_pp. */
    public static final int NUMBER = 0;

    /**
     * @throws IllegalArgumentException if a number is negative or the name is none
     */
    public DlcSetup {
        Objects.requireNonNull(command, "command");
        if (id < 0 || src < 0 || dst < 0 || length < 0) {
            throw new IllegalArgumentException("record " + id + " from " + src + " to " + dst + " of " + length
                    + " bytes; none of them may be negative");
        }
        if (!command.matches("\\w+") || DlcOperation.find(command).isPresent()) {
            throw new IllegalArgumentException("'" + command + "' is no name of a command");
        }
    }
}
