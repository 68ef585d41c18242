package dev.banyan.config.internal;

import java.io.IOException;

/**
 * Thrown for an input that is refused. The message is a sentence about the input, e.g. {@code it is larger than 16
 * MiB}. Callers put the name of the file before it.
 */
public final class UnreadableFileException extends IOException {
    private static final long serialVersionUID = 1L;

    UnreadableFileException(String reason) {
        super(reason);
    }

    UnreadableFileException(String reason, Throwable cause) {
        super(reason, cause);
    }

    /** Returns why the input is refused, as a sentence about it. */
    public String reason() {
        return String.valueOf(getMessage());
    }
}
