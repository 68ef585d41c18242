package dev.banyan.config.internal;

import java.io.IOException;

/**
 * Thrown for an input that is refused. The message is a predicate without its subject, e.g. {@code is larger than 16
 * MiB}, so that callers can put the name of the file before it.
 */
public final class UnreadableFileException extends IOException {
    private static final long serialVersionUID = 1L;

    UnreadableFileException(String reason) {
        super(reason);
    }

    UnreadableFileException(String reason, Throwable cause) {
        super(reason, cause);
    }

    /** Returns why the input is refused, as a predicate without its subject. */
    public String reason() {
        return String.valueOf(getMessage());
    }
}
