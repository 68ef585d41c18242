package dev.banyan.topology.internal.text;

import dev.banyan.InputException;
import dev.banyan.topology.Machine;

/** One format of machine descriptions. Implementations are stateless. */
public interface MachineFormat {
    /** Returns whether the text looks like this format, judged by its first lines; a bad file of the format counts. */
    boolean recognizes(String text);

    /** Returns whether descriptions of this format may leave the speed of links open. */
    boolean leavesSpeedsOpen();

    /**
     * Reads a description.
     *
     * @param source what to call it in messages: a file's name
     * @param text the whole description
     * @throws InputException if it cannot be understood
     */
    Machine read(String source, String text);

    /** Returns a name for a machine whose description has none: the last segment of the source. */
    static String machineName(String source) {
        return source.substring(Math.max(source.lastIndexOf('/'), source.lastIndexOf('\\')) + 1);
    }
}
