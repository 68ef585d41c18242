package dev.banyan.dlc;

/** Thrown for an invalid trace. The message names the place and the remedy. */
public final class DlcException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * @param source what was read, e.g. a file's name
     * @param line line, from 1; 0 where the whole file is meant
     * @param column column, from 1; 0 where the whole line is meant
     * @param problem what is wrong and what to do, without a full stop
     */
    DlcException(String source, int line, int column, String problem) {
        super(source + (line > 0 ? ":" + line + (column > 0 ? ":" + column : "") : "") + ": " + problem);
    }
}
