package dev.banyan.study.measured;

/** Measured figures that can't be understood; the message names the place and the remedy. */
public final class MeasuredException extends RuntimeException {
    private static final long serialVersionUID = 1;

    MeasuredException(String source, int line, int column, String problem) {
        super(source + (line > 0 ? ":" + line : "") + (column > 0 ? ":" + column : "") + ": " + problem);
    }
}
