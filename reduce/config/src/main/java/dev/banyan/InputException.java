package dev.banyan;

/** Thrown for invalid input, e.g. a machine description. The message names the place and the remedy. */
public final class InputException extends BanyanException {
    private static final long serialVersionUID = 1;

    private final int line;
    private final int column;

    /**
     * @param source what was read, e.g. a file's name
     * @param line line, from 1; 0 where the whole input is meant
     * @param column column, from 1; 0 where the whole line is meant
     * @param problem what is wrong and what to do, without a full stop
     */
    public InputException(String source, int line, int column, String problem) {
        super(source + (line > 0 ? ":" + line + (column > 0 ? ":" + column : "") : "") + ": " + problem);
        this.line = line;
        this.column = column;
    }

    /** Returns the line, from 1; 0 where the whole input is meant. */
    public int line() {
        return line;
    }

    /** Returns the column, from 1; 0 where the whole line is meant. */
    public int column() {
        return column;
    }
}
